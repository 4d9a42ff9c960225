#include "codegen/Task.h"

#include "ops/Attrs.h"

namespace lathe {

static constexpr int taskVersion = 2;

/// "f32 1x64x56x56 blocked 1,16"
static std::string describe(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor)
    return "tensor";
  std::vector<std::string> extents;
  for (int64_t extent : tensor.getShape())
    extents.push_back(mlir::ShapedType::isDynamic(extent) ? "?" : std::to_string(extent));
  std::string text = fmt::format("{} {}", name(nn::toElementType(tensor.getElementType())),
                                 extents.empty() ? "scalar" : fmt::format("{}", fmt::join(extents, "x")));
  if (auto layout = mlir::dyn_cast_or_null<nn::BlockedAttr>(tensor.getEncoding()))
    text += fmt::format(" blocked {},{}", layout.getAxis(), layout.getSize());
  return text;
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
    arguments.push_back(describe(function.getArgumentTypes()[i]) +
                        (function.getArgAttr(i, "nn.constant") ? " constant" : ""));
  for (mlir::Type type : function.getResultTypes())
    results.push_back(describe(type));
  for (mlir::Operation *op : operators)
    rest.push_back(nameOf(op));
  task += fmt::format(" | {} -> {} | {} | {} thread{} | {}", fmt::join(arguments, "; "), fmt::join(results, "; "),
                      rest.empty() ? "none" : fmt::format("{}", fmt::join(rest, ", ")), problem.threads,
                      problem.threads == 1 ? "" : "s", problem.target.key());
  if (problem.precision != Precision::fp32)
    task += fmt::format(" | {}", name(problem.precision));
  if (problem.relaxedMath)
    task += " | relaxed math";
  return task;
}

} // namespace lathe
