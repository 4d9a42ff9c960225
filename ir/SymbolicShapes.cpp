#include "ir/SymbolicShapes.h"
#include "ir/ExtentRules.h"
#include "ops/ShapeRules.h"

#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SaveAndRestore.h"

namespace lathe::nn {
namespace {

/// The type's static extents win over `info`'s: a shape function may know less than the IR says.
/// That they agree is a rule.
TensorInfo refine(TensorInfo info, mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type)
    return info;
  if (info.dims.size() != static_cast<size_t>(type.getRank()))
    return infoOf(value);
  for (auto [dim, extent] : llvm::zip(info.dims, type.getShape()))
    if (!mlir::ShapedType::isDynamic(extent)) {
      mayAgree(dim, extent);
      dim = extent;
    }
  return info;
}

thread_local std::vector<NodeRule> *wanted = nullptr; // during extentRules

/// Calls `f`; what it leaves undecided is a rule of the node.
template <class F> void recordRules(mlir::Location node, F &&f) {
  if (!wanted)
    return f();
  std::vector<ExtentRule> found;
  {
    RuleRecorder recorder(found);
    f();
  }
  for (ExtentRule &rule : found)
    wanted->push_back({std::move(rule), describe(node)});
}

} // namespace

Dims argumentDims(mlir::func::FuncOp function, unsigned index) {
  if (auto texts = function.getArgAttrOfType<mlir::ArrayAttr>(index, "nn.dims")) {
    Dims dims;
    for (mlir::Attribute text : texts)
      dims.push_back(Dim::parse(llvm::cast<mlir::StringAttr>(text).getValue().str()));
    return dims;
  }
  Dims dims;
  if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[index]))
    for (int64_t extent : type.getShape())
      dims.push_back(mlir::ShapedType::isDynamic(extent) ? unknownDim() : Dim(extent));
  return dims;
}

mlir::ArrayAttr dimsAttr(mlir::MLIRContext *context, const Dims &dims) {
  mlir::Builder builder(context);
  llvm::SmallVector<mlir::Attribute> texts;
  for (const Dim &dim : dims)
    texts.push_back(builder.getStringAttr(dim.str()));
  return builder.getArrayAttr(texts);
}

SymbolicShapes::SymbolicShapes(mlir::func::FuncOp function) : function(function) {
  if (function.isExternal())
    return;
  for (mlir::BlockArgument argument : function.getArguments()) {
    TensorInfo info = infoOf(argument);
    Dims dims = argumentDims(function, argument.getArgNumber());
    require(dims.size() == info.dims.size(), "argument {} of @{}: nn.dims has {} extents, expected {}",
            argument.getArgNumber(), function.getName().str(), dims.size(), info.dims.size());
    info.dims = std::move(dims);
    known[argument] = refine(std::move(info), argument);
  }
  walk(function.getBody().front());
}

SymbolicShapes::SymbolicShapes(mlir::func::FuncOp function, llvm::ArrayRef<TensorInfo> arguments) : function(function) {
  require(arguments.size() == function.getNumArguments(), "@{} is called with {} operands, expected {}",
          function.getName().str(), arguments.size(), function.getNumArguments());
  for (auto [argument, info] : llvm::zip(function.getArguments(), arguments))
    known[argument] = refine(info, argument);
  walk(function.getBody().front());
}

void SymbolicShapes::walk(mlir::Block &block) {
  std::optional<mlir::SymbolTable> symbols; // made at the first call: a search of the module a call is quadratic
  for (mlir::Operation &op : block) {
    auto call = llvm::dyn_cast<mlir::func::CallOp>(op);
    if (!call) {
      visit(op);
      continue;
    }
    if (!symbols)
      symbols.emplace(op.getParentOfType<mlir::ModuleOp>());
    auto callee = symbols->lookup<mlir::func::FuncOp>(call.getCallee());
    require(callee && !callee.isExternal(), "@{} is called but not defined", call.getCallee().str());
    std::vector<TensorInfo> arguments;
    for (mlir::Value operand : op.getOperands())
      arguments.push_back(of(operand));
    recordRules(op.getLoc(), [&] {
      for (auto [result, info] : llvm::zip(op.getResults(), SymbolicShapes(callee, arguments).results()))
        known[result] = refine(std::move(info), result);
    });
  }
}

void SymbolicShapes::visit(mlir::Operation &op) {
  if (auto convert = llvm::dyn_cast<ConvertLayoutOp>(op)) {
    known[convert.getOutput()] = of(convert.getInput());
    return;
  }
  const OpRecord *record = recordOf(&op);
  if (!record)
    return; // constants and foreign operations: `of` reads the type
  auto operands = operandsByRecord(&op);
  std::vector<TensorInfo> infos(operands.size());
  InferInputs in(std::max(operands.size(), record->operands.size()), nullptr);
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) {
      infos[i] = of(operands[i]);
      in[i] = &infos[i];
    }
  try {
    recordRules(op.getLoc(), [&] {
      InferResult inferred = record->infer(*attrsOf(&op), in);
      for (size_t i = 0; i < inferred.size() && i < op.getNumResults(); ++i)
        known[op.getResult(i)] = refine(std::move(inferred[i]), op.getResult(i));
    });
  } catch (const Error &error) {
    fail("{}: {}", describe(op.getLoc()), error.what());
  }
}

TensorInfo SymbolicShapes::of(mlir::Value value) const {
  auto found = known.find(value);
  return found != known.end() ? found->second : infoOf(value);
}

SymbolicShapes shapesWithRules(mlir::func::FuncOp function, std::vector<NodeRule> &rules) {
  std::vector<NodeRule> all;
  llvm::SaveAndRestore recording(wanted, &all);
  SymbolicShapes shapes(function);
  llvm::StringSet<> seen;
  for (NodeRule &entry : all)
    if (seen.insert(str(entry.rule)).second)
      rules.push_back(std::move(entry));
  return shapes;
}

std::vector<NodeRule> extentRules(mlir::func::FuncOp function) {
  std::vector<NodeRule> rules;
  shapesWithRules(function, rules);
  return rules;
}

std::vector<TensorInfo> SymbolicShapes::results() const {
  std::vector<TensorInfo> infos;
  for (mlir::Value operand :
       const_cast<mlir::func::FuncOp &>(function).getBody().front().getTerminator()->getOperands())
    infos.push_back(of(operand));
  return infos;
}

} // namespace lathe::nn
