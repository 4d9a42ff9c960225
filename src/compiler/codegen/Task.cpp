#include "codegen/Task.h"

#include "ir/SymbolicShapes.h"
#include "ops/Attrs.h"

#include <charconv>

namespace lathe {

static constexpr int taskVersion = 2;
static constexpr const char *separator = " | ", *relaxedWord = "relaxed math";

static std::string threadsText(int threads) { return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"); }

/// "f32 1x64x56x56 blocked 1,16"; `assumed`: values of open extents, "" if there is none.
static std::string describe(mlir::Type type, const std::function<std::string(size_t axis)> &assumed) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor)
    return "tensor";
  std::vector<std::string> extents;
  for (auto [axis, extent] : llvm::enumerate(tensor.getShape()))
    extents.push_back(mlir::ShapedType::isDynamic(extent) ? "?" + assumed(axis) : std::to_string(extent));
  std::string text = fmt::format("{} {}", name(nn::toElementType(tensor.getElementType())),
                                 extents.empty() ? "scalar" : fmt::format("{}", fmt::join(extents, "x")));
  if (auto layout = mlir::dyn_cast_or_null<nn::BlockedAttr>(tensor.getEncoding()))
    text += fmt::format(" blocked {},{}", layout.getAxis(), layout.getSize());
  return text;
}

/// The height and width that costs assume for a convolution's operands and results; plans of schedules depend on them.
static std::function<std::string(size_t axis)> assumedExtents(const KernelProblem &problem, mlir::Operation *anchor,
                                                              Dims dims) {
  if (!anchor || anchor->getName().stripDialect() != "conv")
    return [](size_t) { return ""; };
  return [&problem, dims = std::move(dims)](size_t axis) -> std::string {
    if (axis < 2 || isUnknown(dims[axis]))
      return "";
    return std::to_string(dims[axis].evaluate([&](const std::string &symbol) {
      auto found = problem.typical.find(symbol);
      return found == problem.typical.end() ? typicalImage : found->second;
    }));
  };
}

mlir::Operation *anchorOf(mlir::func::FuncOp kernel) {
  auto family = kernel->getAttrOfType<mlir::StringAttr>("nn.family");
  for (mlir::Operation &op : kernel.front().without_terminator())
    if (const OpRecord *record = nn::recordOf(&op); record && family && family.getValue() == record->lowering)
      return &op;
  return nullptr;
}

std::string taskOf(const KernelProblem &problem) {
  mlir::func::FuncOp function = problem.function;
  mlir::Operation *anchor = anchorOf(function);
  std::vector<mlir::Operation *> operators;
  for (mlir::Operation &op : function.front().without_terminator())
    if (&op != anchor)
      operators.push_back(&op);
  auto nameOf = [](mlir::Operation *op) { return op->getName().stripDialect().str(); };
  std::string task = fmt::format("task/{} |", taskVersion);
  if (anchor) {
    std::string attributes = describe(*nn::attrsOf(anchor));
    task += " " + nameOf(anchor) + (attributes.empty() ? "" : " " + attributes);
  }
  std::vector<std::string> arguments, results, rest;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.push_back(
        describe(function.getArgumentTypes()[i], assumedExtents(problem, anchor, nn::argumentDims(function, i))) +
        (function.getArgAttr(i, "nn.constant") ? " constant" : ""));
  std::vector<TensorInfo> known = nn::SymbolicShapes(function).results();
  for (auto [type, info] : llvm::zip(function.getResultTypes(), known))
    results.push_back(describe(type, assumedExtents(problem, anchor, info.dims)));
  for (mlir::Operation *op : operators)
    rest.push_back(nameOf(op));
  std::vector<std::string> more = {fmt::format("{} -> {}", fmt::join(arguments, "; "), fmt::join(results, "; ")),
                                   rest.empty() ? "none" : fmt::format("{}", fmt::join(rest, ", ")),
                                   threadsText(problem.threads), problem.target.key()};
  if (problem.precision != Precision::fp32)
    more.push_back(name(problem.precision));
  if (problem.relaxedMath)
    more.push_back(relaxedWord);
  return fmt::format("{}{}{}", task, separator, fmt::join(more, separator));
}

std::optional<TaskParts> partsOfTask(const std::string &task) {
  if (!task.starts_with(fmt::format("task/{} |", taskVersion)))
    return std::nullopt;
  TaskParts parts;
  std::string rest = task;
  auto last = [&] { // removes and returns the last part
    size_t at = rest.rfind(separator);
    std::string part = at == std::string::npos ? "" : rest.substr(at + std::string_view(separator).size());
    rest.resize(std::min(at, rest.size()));
    return part;
  };
  parts.target = last();
  if (parts.relaxedMath = parts.target == relaxedWord; parts.relaxedMath)
    parts.target = last();
  if (parts.precision = precisionOf(parts.target); parts.precision != Precision::fp32)
    parts.target = last();
  std::string threads = last();
  std::from_chars(threads.data(), threads.data() + threads.size(), parts.threads);
  parts.kernel = rest;
  if (parts.threads < 1 || threads != threadsText(parts.threads))
    return std::nullopt;
  return parts;
}

} // namespace lathe
