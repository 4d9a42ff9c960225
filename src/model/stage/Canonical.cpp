#include "stage/Canonical.h"

#include "ir/Bodies.h"
#include "ir/Bridge.h"
#include "ir/Main.h"
#include "ir/SymbolicShapes.h"
#include "support/Text.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

namespace lathe {
namespace {

/// `text` in quotes, on one line.
std::string quoted(llvm::StringRef text) {
  std::string result;
  llvm::raw_string_ostream out(result);
  out << '"';
  llvm::printEscapedString(text, out);
  out << '"';
  return result;
}

/// Attributes as "axis=1, keepdims=true", in the order of the record.
class Printer : public AttrVisitor {
public:
  std::string text;
  void field(const char *name, int64_t &value) override { put(name, std::to_string(value)); }
  void field(const char *name, double &value) override { put(name, fmt::format("{}", value)); }
  void field(const char *name, bool &value) override { put(name, value ? "true" : "false"); }
  void field(const char *name, std::string &value) override { put(name, quoted(value)); }
  void field(const char *name, ElementType &value) override {
    put(name, value == ElementType::invalid ? "none" : std::string(lathe::name(value)));
  }
  void field(const char *name, std::vector<int64_t> &value) override {
    put(name, fmt::format("[{}]", fmt::join(value, ", ")));
  }
  void field(const char *name, std::vector<double> &value) override {
    put(name, fmt::format("[{}]", fmt::join(value, ", ")));
  }

private:
  void put(const char *name, const std::string &value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
};

std::string textOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The text of one function: @main of the model, or of a body.
class FunctionText {
public:
  FunctionText(mlir::func::FuncOp main, std::string indent) : main(main), indent(std::move(indent)) {}

  /// Lines of inputs, operators and outputs; with `names`, inputs and outputs keep their names.
  std::string str(bool names) {
    std::vector<std::string> inputs = names ? inputNames(main) : std::vector<std::string>(main.getNumArguments());
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      mlir::Value argument = main.getArgument(i);
      numbers[argument] = fmt::format("%{}", numbers.size());
      put("{} = input{} {} [{}]{}", numbers[argument], names ? " " + quoted(inputs[i]) : "", textOf(argument.getType()),
          fmt::join(extents(i), ", "), note(main.getArgAttrOfType<mlir::StringAttr>(i, "nn.quantization")));
    }
    mlir::Operation *end = main.getBody().front().getTerminator();
    for (mlir::Value value : end->getOperands())
      visit(value);
    std::vector<std::string> outputs = names ? outputNames(main) : std::vector<std::string>(main.getNumResults());
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      put("output{} {}{}", names ? " " + quoted(outputs[i]) : "", nameOf(value),
          note(main.getResultAttrOfType<mlir::StringAttr>(unsigned(i), "nn.quantization")));
    return text;
  }

private:
  mlir::func::FuncOp main;
  std::string indent, text;
  llvm::DenseMap<mlir::Value, std::string> numbers;
  llvm::DenseSet<mlir::Operation *> done;
  std::map<std::string, std::string> unknown;

  template <class... Args> void put(fmt::format_string<Args...> format, Args &&...args) {
    text += indent + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  /// Extents of an argument. Unknown extents are renumbered in the order of their first use, because their numbers
  /// differ between runs.
  std::vector<std::string> extents(unsigned index) {
    std::vector<std::string> result;
    for (const Dim &dim : nn::argumentDims(main, index))
      result.push_back(dim.substitute([&](const std::string &symbol) -> std::optional<Dim> {
                            if (!isUnknown(Dim::symbol(symbol)))
                              return std::nullopt;
                            auto [at, added] = unknown.emplace(symbol, fmt::format("?{}", unknown.size()));
                            return Dim::symbol(at->second);
                          })
                           .str());
    return result;
  }
  static std::string note(mlir::StringAttr quantization) {
    return quantization ? " " + quoted(quantization.getValue()) : "";
  }

  std::string nameOf(mlir::Value value) {
    if (!value)
      return "none";
    if (auto constant = value.getDefiningOp<nn::ConstantOp>())
      return "constant " + constantKey(constant.getValue());
    return numbers.lookup(value);
  }

  /// Prints the operator of `value` after the operators that it reads.
  void visit(mlir::Value value) {
    std::vector<std::pair<mlir::Operation *, unsigned>> waiting; // with the index of the next operand
    auto enter = [&](mlir::Value read) {
      mlir::Operation *op = read.getDefiningOp();
      if (op && !llvm::isa<nn::ConstantOp>(op) && done.insert(op).second)
        waiting.emplace_back(op, 0);
    };
    enter(value);
    while (!waiting.empty()) {
      auto &[op, next] = waiting.back();
      if (next < op->getNumOperands()) {
        mlir::Value read = op->getOperand(next++);
        enter(read);
        continue;
      }
      mlir::Operation *ready = op;
      waiting.pop_back();
      print(ready);
    }
  }

  void print(mlir::Operation *op) {
    const OpRecord *record = nn::recordOf(op);
    auto bodies = nn::bodiesOf(op);
    require(record || !bodies.empty() || llvm::isa<nn::ConvertLayoutOp>(op),
            "{}: '{}' is no operator of a graph; the model is at kernels level, start from the graph",
            nn::describe(op->getLoc()), op->getName().getStringRef().str());
    std::vector<std::string> results, types, operands;
    for (mlir::Value result : op->getResults()) {
      numbers[result] = fmt::format("%{}", numbers.size());
      results.push_back(numbers[result]);
      types.push_back(textOf(result.getType()));
    }
    auto read = record ? nn::operandsByRecord(op) : llvm::SmallVector<mlir::Value>(op->getOperands());
    while (!read.empty() && !read.back())
      read.pop_back(); // absent operand
    for (mlir::Value operand : read)
      operands.push_back(nameOf(operand));
    Printer attributes;
    if (record)
      nn::attrsOf(op)->visit(attributes);
    if (auto loop = llvm::dyn_cast<nn::LoopOp>(op))
      attributes.text = fmt::format("carried={}", loop.getCarried());
    if (auto extents = op->getAttrOfType<mlir::ArrayAttr>(nn::extentsAttribute))
      for (mlir::Attribute extent : extents)
        attributes.text += " " + quoted(llvm::cast<mlir::StringAttr>(extent).getValue());
    put("{} = {}({}) {{{}}} : {}", fmt::join(results, ", "), op->getName().stripDialect().str(),
        fmt::join(operands, ", "), attributes.text, fmt::join(types, ", "));
    for (auto [i, body] : llvm::enumerate(bodies)) {
      put("{}:", llvm::isa<nn::LoopOp>(op) ? "body" : i == 0 ? "then" : "else");
      text += FunctionText(body.main, indent + "  ").str(false);
    }
  }
};

} // namespace

std::string constantKey(mlir::ElementsAttr elements) {
  nn::ConstantData data = nn::constantData(elements);
  llvm::BLAKE3 hasher;
  int64_t copies = 1;
  if (data.splat)
    for (int64_t extent : data.dims)
      copies *= extent;
  std::string element(data.bytes.data(), data.bytes.size()), block;
  if (data.splat)
    for (int64_t i = 0; i < std::min<int64_t>(copies, 4096); ++i)
      block += element;
  for (; data.splat && copies >= 4096; copies -= 4096)
    hasher.update(block);
  if (data.splat)
    hasher.update(llvm::StringRef(block).take_front(static_cast<size_t>(copies) * element.size()));
  else
    hasher.update(llvm::StringRef(data.bytes.data(), data.bytes.size()));
  auto digest = hasher.final<16>();
  return fmt::format("{}[{}] {}", name(data.type), fmt::join(data.dims, ", "),
                     llvm::toHex(llvm::ArrayRef<uint8_t>(digest.data(), digest.size()), /*LowerCase=*/true));
}

std::string canonicalText(mlir::ModuleOp module) { return FunctionText(mainFunction(module), "").str(true); }

} // namespace lathe
