#include "ir/SymbolicShapes.h"
#include "ir/Bodies.h"
#include "ir/ExtentRules.h"
#include "ops/ShapeRules.h"

#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SaveAndRestore.h"

namespace lathe::nn {
namespace {

/// Prefers the static extents of the type: a shape function may know less than the IR states. A rule demands that both
/// agree.
TensorInfo refine(TensorInfo info, mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type)
    return info;
  if (!info.isTensor())
    return infoOf(value);
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

/// `describe` without the file name: packages keep rules, and a package is shared by files with the same content.
std::string describeInside(mlir::Location node) {
  std::string text = describe(node);
  auto at = node->findInstanceOf<mlir::FileLineColLoc>();
  std::string file = at ? at.getFilename().str() + ": " : "";
  return text.starts_with(file) ? text.substr(file.size()) : text;
}

/// Calls `f`; comparisons that it leaves undecided become rules of the node.
template <class F> void recordRules(mlir::Location node, F &&f) {
  if (!wanted)
    return f();
  std::vector<ExtentRule> found;
  {
    RuleRecorder recorder(found);
    f();
  }
  for (ExtentRule &rule : found)
    wanted->push_back({std::move(rule), describeInside(node)});
}

} // namespace

namespace {

Dims dimsOf(mlir::ArrayAttr texts) {
  Dims dims;
  for (mlir::Attribute text : texts)
    dims.push_back(Dim::parse(llvm::cast<mlir::StringAttr>(text).getValue().str()));
  return dims;
}

} // namespace

llvm::StringRef nameOfExtent(mlir::Operation *op, unsigned result, size_t axis) {
  auto names = op->getAttrOfType<mlir::ArrayAttr>(extentsAttribute);
  size_t at = axis;
  for (unsigned i = 0; names && i < result; ++i)
    if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(i).getType()))
      at += static_cast<size_t>(type.getRank());
  return names && at < names.size() ? llvm::cast<mlir::StringAttr>(names[at]).getValue() : llvm::StringRef();
}

Dims argumentDims(mlir::func::FuncOp function, unsigned index) {
  if (auto texts = function.getArgAttrOfType<mlir::ArrayAttr>(index, "nn.dims"))
    return dimsOf(texts);
  Dims dims;
  if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[index]))
    for (int64_t extent : type.getShape())
      dims.push_back(mlir::ShapedType::isDynamic(extent) ? unknownDim() : Dim(extent));
  return dims;
}

Dims storedDims(mlir::func::FuncOp kernel, unsigned buffer, const Dims &dims) {
  unsigned arguments = kernel.getNumArguments();
  auto texts = buffer < arguments ? kernel.getArgAttrOfType<mlir::ArrayAttr>(buffer, storedAttribute)
                                  : kernel.getResultAttrOfType<mlir::ArrayAttr>(buffer - arguments, storedAttribute);
  if (!texts)
    return dims;
  Dims stored;
  for (mlir::Attribute text : texts)
    stored.push_back(Dim::parse(llvm::cast<mlir::StringAttr>(text).getValue().str()));
  require(stored.size() == dims.size(), "buffer {} of @{}: {} has {} extents, expected {}", buffer,
          kernel.getName().str(), storedAttribute, stored.size(), dims.size());
  return stored;
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
    if (auto texts = function.getArgAttrOfType<mlir::ArrayAttr>(argument.getArgNumber(), contentsAttribute))
      info.contents = dimsOf(texts);
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
  std::optional<mlir::SymbolTable> symbols; // created at the first call, because a search per call would be quadratic
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

/// Replaces unknown extents by the symbols that the operation names.
void SymbolicShapes::nameExtents(mlir::Operation &op) {
  if (!op.hasAttr(extentsAttribute))
    return;
  for (mlir::OpResult result : op.getResults())
    if (auto found = known.find(result); found != known.end())
      for (size_t axis = 0; axis < found->second.dims.size(); ++axis)
        if (isUnknown(found->second.dims[axis]))
          if (llvm::StringRef name = nameOfExtent(&op, result.getResultNumber(), axis); !name.empty())
            found->second.dims[axis] = Dim::symbol(name.str());
}

void SymbolicShapes::visit(mlir::Operation &op) {
  infer(op);
  nameExtents(op);
}

void SymbolicShapes::infer(mlir::Operation &op) {
  if (auto convert = llvm::dyn_cast<ConvertLayoutOp>(op)) {
    known[convert.getOutput()] = of(convert.getInput());
    return;
  }
  if (llvm::isa<IfOp, LoopOp>(op))
    return visitControlFlow(op);
  const OpRecord *record = recordOf(&op);
  if (!record)
    return; // for constants and foreign operations `of` reads the type
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

namespace {

/// Describes a value that `a` or `b` describes, depending on the run: extents that differ are unknown.
TensorInfo common(const TensorInfo &a, const TensorInfo &b) {
  if (!a.isTensor())
    return commonItems(a, b);
  TensorInfo info{a.type, a.dims, std::nullopt};
  for (size_t axis = 0; axis < info.dims.size(); ++axis)
    if (axis >= b.dims.size() || !(a.dims[axis] == b.dims[axis]))
      info.dims[axis] = unknownDim();
  return info;
}

llvm::StringSet<> symbolsOf(const TensorInfo &info) {
  llvm::StringSet<> symbols;
  std::vector<std::string> names;
  for (const Dim &dim : info.dims)
    dim.collectSymbols(names);
  for (const std::string &name : names)
    symbols.insert(name);
  return symbols;
}

/// Number of iterations if it depends only on the trip count, otherwise unknown.
Dim loopTrips(LoopOp loop, mlir::func::FuncOp body, const TensorInfo &tripCount) {
  auto isTrue = [](mlir::Value value) {
    auto constant = value.getDefiningOp<ConstantOp>();
    auto data = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : mlir::DenseElementsAttr();
    return data && data.isSplat() && data.getSplatValue<bool>();
  };
  mlir::Value condition = body.getBody().front().getTerminator()->getOperand(0);
  bool goesOn = isTrue(condition) || condition == body.getArgument(1);
  if (!goesOn || !isTrue(loop.getCondition()) || !tripCount.contents || tripCount.contents->size() != 1)
    return unknownDim();
  const Dim &trips = tripCount.contents->front();
  return trips.isConstant() && trips.constant() < 0 ? Dim(0) : trips;
}

/// `info` outside a body: extents become unknown if they have a symbol that the operation's operands do not have, or a
/// symbol of `inner`.
TensorInfo outside(TensorInfo info, const llvm::StringSet<> &outer, const llvm::StringSet<> &inner) {
  info.contents.reset();
  for (Dim &dim : info.dims) {
    std::vector<std::string> names;
    dim.collectSymbols(names);
    if (llvm::any_of(names, [&](const std::string &name) { return !outer.contains(name) || inner.contains(name); }))
      dim = unknownDim();
  }
  return info;
}

} // namespace

/// Extents of the results. Symbols that only carried values of a loop have differ between iterations. Rules of a body
/// are checked where the body runs (PlanBuilder), so they do not belong to this function.
void SymbolicShapes::visitControlFlow(mlir::Operation &op) {
  llvm::SaveAndRestore quiet(wanted, static_cast<std::vector<NodeRule> *>(nullptr));
  auto bodies = bodiesOf(&op);
  Captured captured = capturedBy(&op);
  auto resultsOf = [&](BodyRef body) {
    std::vector<TensorInfo> arguments;
    for (mlir::BlockArgument argument : body.main.getArguments()) {
      arguments.push_back(infoOf(argument));
      arguments.back().dims = argumentDims(body.main, argument.getArgNumber());
    }
    for (auto [i, value] : llvm::enumerate(captured.values)) {
      arguments[captured.firstArgument + i] = of(value);
      arguments[captured.firstArgument + i].contents.reset();
    }
    return SymbolicShapes(body.main, arguments).results();
  };
  llvm::StringSet<> outer;
  for (mlir::Value operand : op.getOperands()) {
    TensorInfo info = of(operand);
    for (const auto &name : symbolsOf(info))
      outer.insert(name.getKey());
    std::vector<std::string> names;
    for (const Dim &dim : info.contents.value_or(Dims()))
      dim.collectSymbols(names);
    for (const std::string &name : names)
      outer.insert(name);
  }
  std::vector<TensorInfo> results = resultsOf(bodies.front());
  auto loop = llvm::dyn_cast<LoopOp>(op);
  if (!loop) {
    for (auto [result, a, b] : llvm::zip(op.getResults(), results, resultsOf(bodies.back())))
      known[result] = refine(common(outside(a, outer, {}), b), result);
    return;
  }
  // Symbols of the body's carried arguments that the values before the loop do not have.
  llvm::StringSet<> inner;
  auto initial = carriedBy(loop);
  for (size_t i = 0; i < initial.size(); ++i) {
    llvm::StringSet<> before = symbolsOf(of(initial[i]));
    TensorInfo argument;
    argument.dims = argumentDims(bodies.front().main, loopHeader + static_cast<unsigned>(i));
    for (const auto &name : symbolsOf(argument))
      if (!before.contains(name.getKey()))
        inner.insert(name.getKey());
  }
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    TensorInfo info = outside(results[1 + i], outer, inner);
    if (i < initial.size())
      info = common(info, of(initial[i]));
    else
      info.dims.insert(info.dims.begin(), loopTrips(loop, bodies.front().main, of(loop.getTripCount())));
    known[result] = refine(std::move(info), result);
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
