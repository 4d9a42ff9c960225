#include "import/Bodies.h"

#include "import/Node.h"
#include "ir/Bodies.h"
#include "ir/SymbolicShapes.h"

namespace lathe::source {

TensorInfo withoutContents(TensorInfo info) {
  info.contents.reset();
  return info;
}

// ---- A body -------------------------------------------------------------------------------------------------------

BodyImport::BodyImport(StructureNode &node, const std::string &name, const std::vector<TensorInfo> &arguments)
    : node(node), before(node.graph.builder.saveInsertionPoint()) {
  limitUnfolding(node);
  mlir::OpBuilder &builder = node.graph.builder;
  auto around = builder.getInsertionBlock()->getParentOp()->getParentOfType<mlir::ModuleOp>();
  module = mlir::ModuleOp::create(node.loc, nn::freeBodyName(around, name));
  around.push_back(module);
  llvm::SmallVector<mlir::Type> types;
  for (const TensorInfo &info : arguments)
    types.push_back(nn::toMlirType(builder.getContext(), info));
  main = mlir::func::FuncOp::create(node.loc, "main", builder.getFunctionType(types, {}));
  module.push_back(main);
  main.addEntryBlock();
  for (size_t i = 0; i < arguments.size(); ++i)
    node.graph.known.setInfo(argument(i), withoutContents(arguments[i]));
  builder.setInsertionPointToEnd(&block());
}

BodyImport::~BodyImport() {
  leave();
  if (kept)
    return;
  module.walk([&](mlir::Operation *op) {
    for (mlir::Value result : op->getResults())
      node.graph.known.forget(result);
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &inner : region)
        for (mlir::Value value : inner.getArguments())
          node.graph.known.forget(value);
  });
  module.erase();
}

void BodyImport::leave() {
  if (open)
    node.graph.builder.restoreInsertionPoint(before);
  open = false;
}

std::vector<Entry> BodyImport::run(const GraphRecord &graph, const std::vector<Entry> &inputs) {
  require(inputs.size() == graph.inputs.size(), "the body has {} inputs, expected {}", graph.inputs.size(),
          inputs.size());
  Scope &around = node.graph.current();
  scope.outer = &around;
  scope.nodes = &graph.nodes;
  scope.prefix = node.name + "/";
  scope.version = around.version;
  scope.line = node.line;
  scope.block = &block();
  scope.attributes = around.attributes;
  scope.isFunction = around.isFunction;
  for (size_t i = 0; i < inputs.size(); ++i)
    require(scope.values.emplace(graph.inputs[i].name, GraphValue{inputs[i], -1, nullptr}).second,
            "the body has two inputs '{}'", graph.inputs[i].name);
  std::vector<std::string> outputs;
  for (const ValueRecord &output : graph.outputs)
    outputs.push_back(output.name);
  return node.graph.importWithin(scope, &graph.initializers, outputs);
}

void BodyImport::close(const Values &results) {
  node.graph.builder.create<mlir::func::ReturnOp>(node.loc, results);
  leave();
  findCaptured();
}

void BodyImport::findCaptured() {
  llvm::DenseMap<mlir::Value, mlir::Value> copies;
  mlir::OpBuilder builder(main.getContext());
  for (mlir::Operation &op : llvm::make_early_inc_range(block()))
    for (mlir::OpOperand &operand : op.getOpOperands()) {
      mlir::Value value = operand.get();
      if (value.getParentBlock() == &block())
        continue;
      auto constant = value.getDefiningOp<nn::ConstantOp>();
      if (!constant) {
        outer.insert(value);
        continue;
      }
      auto [copy, added] = copies.try_emplace(value);
      if (added) {
        builder.setInsertionPointToStart(&block());
        copy->second = builder.clone(*constant)->getResult(0);
      }
      operand.set(copy->second);
    }
}

mlir::Value BodyImport::result(size_t index) {
  return block().getTerminator()->getOperand(static_cast<unsigned>(index));
}

std::vector<TensorInfo> BodyImport::results() {
  std::vector<TensorInfo> infos;
  for (mlir::Value value : block().getTerminator()->getOperands())
    infos.push_back(withoutContents(node.graph.info(value)));
  return infos;
}

void BodyImport::capture(llvm::ArrayRef<mlir::Value> values) {
  for (mlir::Value value : values) {
    TensorInfo info = withoutContents(node.graph.info(value));
    mlir::Value argument = block().addArgument(nn::toMlirType(main.getContext(), info), value.getLoc());
    node.graph.known.setInfo(argument, info);
    for (mlir::OpOperand &use : llvm::make_early_inc_range(value.getUses()))
      if (use.getOwner()->getBlock() == &block())
        use.set(argument);
  }
  main.setType(mlir::FunctionType::get(main.getContext(), block().getArgumentTypes(),
                                       block().getTerminator()->getOperandTypes()));
  for (mlir::BlockArgument argument : block().getArguments()) {
    const Dims &dims = node.graph.info(argument).dims;
    if (!allConstant(dims) && llvm::none_of(dims, isUnknown))
      main.setArgAttr(argument.getArgNumber(), "nn.dims", nn::dimsAttr(main.getContext(), dims));
  }
}

// ---- Loops --------------------------------------------------------------------------------------------------------

namespace {

/// The carried values as the body sees them. Each round, extents that an iteration changes become symbols.
class CarriedInfos {
public:
  CarriedInfos(StructureNode &node, const Values &initial) : node(node) {
    for (mlir::Value value : initial)
      infos.push_back(withoutContents(node.graph.info(value)));
    for (size_t i = 0; i < infos.size(); ++i)
      for (size_t axis = 0; axis < infos[i].dims.size(); ++axis)
        if (isUnknown(infos[i].dims[axis]))
          open(i, axis);
  }

  std::vector<TensorInfo> arguments() const {
    std::vector<TensorInfo> all = {{ElementType::i64, {}, std::nullopt}, {ElementType::boolean, {}, std::nullopt}};
    all.insert(all.end(), infos.begin(), infos.end());
    return all;
  }

  /// True if the body, whose results are the condition, the carried and the scanned values, keeps all extents.
  bool agree(const std::vector<TensorInfo> &results) {
    bool same = true;
    for (size_t i = 0; i < infos.size(); ++i) {
      const TensorInfo &after = results[1 + i];
      require(after.type == infos[i].type, "carried value {} is {} before an iteration and {} behind it", i,
              name(infos[i].type), name(after.type));
      if (after.dims.size() != infos[i].dims.size())
        node.unsupported(fmt::format("carried value {} has rank {} before an iteration and {} behind it", i,
                                     infos[i].dims.size(), after.dims.size()));
      for (size_t axis = 0; axis < after.dims.size(); ++axis)
        if (!(after.dims[axis] == infos[i].dims[axis]) && !isOpen(i, axis)) {
          open(i, axis);
          same = false;
        }
    }
    return same;
  }

  /// Extents of carried value `index` after the loop.
  Dims after(size_t index) const {
    Dims dims = infos[index].dims;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (isOpen(index, axis))
        dims[axis] = unknownDim();
    return dims;
  }

  /// `dims` of a value of the body, seen from outside.
  Dims outside(Dims dims) const {
    for (Dim &dim : dims) {
      std::vector<std::string> names;
      dim.collectSymbols(names);
      if (llvm::any_of(names, [&](const std::string &symbol) { return llvm::is_contained(symbols, symbol); }))
        dim = unknownDim();
    }
    return dims;
  }

private:
  StructureNode &node;
  std::vector<TensorInfo> infos;
  std::vector<std::pair<size_t, size_t>> opened; // value and axis
  std::vector<std::string> symbols;

  bool isOpen(size_t value, size_t axis) const { return llvm::is_contained(opened, std::pair(value, axis)); }
  void open(size_t value, size_t axis) {
    opened.emplace_back(value, axis);
    symbols.push_back(node.graph.newSymbol(fmt::format("{}_{}_{}", node.name, value, axis)));
    infos[value].dims[axis] = Dim::symbol(symbols.back());
  }
};

/// Number of iterations for the type of scanned results, where the compiler knows it.
Dim tripsOf(StructureNode &node, const LoopParts &parts, BodyImport &body) {
  auto isTrue = [&](mlir::Value value) {
    const Tensor *known = node.graph.known.contents(value);
    return known && known->elements() == 1 && known->asInteger(0) != 0;
  };
  const TensorInfo &count = node.graph.info(parts.tripCount);
  bool goesOn = isTrue(body.result(0)) || body.result(0) == body.argument(1);
  if (!goesOn || !isTrue(parts.condition) || !count.contents || count.contents->size() != 1)
    return unknownDim();
  const Dim &trips = count.contents->front();
  return trips.isConstant() && trips.constant() < 0 ? Dim(0) : trips;
}

} // namespace

std::optional<Values> emitLoop(StructureNode &node, const LoopParts &parts) {
  CarriedInfos carried(node, parts.carried);
  constexpr int rounds = 64; // each opens an extent, and there are not so many
  for (int round = 0; round < rounds; ++round) {
    BodyImport body(node, node.name, carried.arguments());
    std::optional<Values> made = parts.iterate(body);
    if (!made)
      return std::nullopt;
    body.close(*made);
    std::vector<TensorInfo> results = body.results();
    if (!carried.agree(results))
      continue;
    Dim trips = tripsOf(node, parts, body);
    body.capture(body.captured().getArrayRef());
    body.keep();

    mlir::OpBuilder &builder = node.graph.builder;
    std::vector<TensorInfo> infos;
    for (size_t i = 0; i < parts.carried.size(); ++i)
      infos.push_back({results[1 + i].type, carried.after(i), std::nullopt});
    for (size_t i = 1 + parts.carried.size(); i < results.size(); ++i) {
      Dims dims = carried.outside(results[i].dims);
      dims.insert(dims.begin(), trips);
      infos.push_back({results[i].type, std::move(dims), std::nullopt});
    }
    llvm::SmallVector<mlir::Type> types;
    for (const TensorInfo &info : infos)
      types.push_back(nn::toMlirType(builder.getContext(), info));
    llvm::SmallVector<mlir::Value> values(parts.carried.begin(), parts.carried.end());
    llvm::append_range(values, body.captured());
    auto loop = builder.create<nn::LoopOp>(node.loc, types, parts.tripCount, parts.condition, values, body.symbol(),
                                           parts.carried.size());
    Values outputs(loop.getResults().begin(), loop.getResults().end());
    for (size_t i = 0; i < outputs.size(); ++i)
      node.graph.known.setInfo(outputs[i], infos[i]);
    return outputs;
  }
  node.unsupported("the extents of its carried values do not settle");
}

// ---- Branches -----------------------------------------------------------------------------------------------------

std::optional<Values> tensorsOf(StructureNode &node, const std::vector<Entry> &entries, const char *reason) {
  Values values;
  for (const Entry &entry : entries) {
    if (!entry.imported())
      return std::nullopt;
    if (!entry.value)
      node.unsupported(reason);
    values.push_back(entry.value);
  }
  return values;
}

void emitIf(StructureNode &node, mlir::Value condition, const GraphRecord &thenGraph, const GraphRecord &elseGraph) {
  require(thenGraph.outputs.size() == node.outputs.size() && elseGraph.outputs.size() == node.outputs.size(),
          "its branches have {} and {} outputs, expected {}", thenGraph.outputs.size(), elseGraph.outputs.size(),
          node.outputs.size());
  constexpr const char *reason =
      "its condition is computed at run time, and a branch gives a sequence or an empty optional";
  BodyImport thenBody(node, node.name + "_then", {});
  std::optional<Values> a = tensorsOf(node, thenBody.run(thenGraph, {}), reason);
  if (!a)
    return;
  thenBody.close(*a);
  BodyImport elseBody(node, node.name + "_else", {});
  std::optional<Values> b = tensorsOf(node, elseBody.run(elseGraph, {}), reason);
  if (!b)
    return;
  elseBody.close(*b);

  std::vector<TensorInfo> infos = thenBody.results(), others = elseBody.results();
  for (size_t i = 0; i < infos.size(); ++i) {
    require(infos[i].type == others[i].type, "output {} is {} in one branch and {} in the other", i,
            name(infos[i].type), name(others[i].type));
    if (infos[i].rank() != others[i].rank())
      node.unsupported(
          fmt::format("its condition is computed at run time, and its branches give an output of rank {} and {}",
                      infos[i].rank(), others[i].rank()));
    for (size_t axis = 0; axis < infos[i].dims.size(); ++axis)
      if (!(infos[i].dims[axis] == others[i].dims[axis]))
        infos[i].dims[axis] = unknownDim();
  }
  llvm::SetVector<mlir::Value> captured = thenBody.captured();
  captured.insert(elseBody.captured().begin(), elseBody.captured().end());
  for (BodyImport *body : {&thenBody, &elseBody}) {
    body->capture(captured.getArrayRef());
    body->keep();
  }
  llvm::SmallVector<mlir::Type> types;
  for (const TensorInfo &info : infos)
    types.push_back(nn::toMlirType(node.graph.builder.getContext(), info));
  auto branch = node.graph.builder.create<nn::IfOp>(node.loc, types, condition, captured.getArrayRef(),
                                                    thenBody.symbol(), elseBody.symbol());
  for (size_t i = 0; i < infos.size(); ++i) {
    node.outputs[i].value = branch.getResult(static_cast<unsigned>(i));
    node.graph.known.setInfo(node.outputs[i].value, infos[i]);
  }
}

} // namespace lathe::source
