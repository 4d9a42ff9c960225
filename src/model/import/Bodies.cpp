#include "import/Bodies.h"

#include "import/Node.h"
#include "import/RunTimeValues.h"
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

void BodyImport::resume() {
  before = node.graph.builder.saveInsertionPoint();
  node.graph.builder.setInsertionPointToEnd(&block());
  open = true;
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

bool sameItems(const std::optional<Dims> &a, const std::optional<Dims> &b) {
  if (!a || !b || a->size() != b->size())
    return !a && !b;
  return llvm::all_of(llvm::zip(*a, *b), [](auto pair) {
    auto &[x, y] = pair;
    return x == y || (isUnknown(x) && isUnknown(y));
  });
}

/// The carried values as the body sees them. Each round, extents that an iteration changes become symbols.
class CarriedInfos {
public:
  CarriedInfos(StructureNode &node, const Values &initial) : owner(&node) {
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
      require(after.kind == infos[i].kind, "carried value {} is {} before an iteration and {} behind it", i,
              name(infos[i].kind), name(after.kind));
      if (!after.isTensor()) {
        TensorInfo both = commonItems(infos[i], after);
        same &= both.noItems == infos[i].noItems && sameItems(both.items, infos[i].items);
        infos[i] = std::move(both);
        continue;
      }
      if (after.dims.size() != infos[i].dims.size())
        owner->unsupported(fmt::format("carried value {} has rank {} before an iteration and {} behind it", i,
                                       infos[i].dims.size(), after.dims.size()));
      for (size_t axis = 0; axis < after.dims.size(); ++axis)
        if (!(after.dims[axis] == infos[i].dims[axis]) && !isOpen(i, axis)) {
          open(i, axis);
          same = false;
        }
    }
    return same;
  }

  /// Carried value `index` after the loop.
  TensorInfo after(size_t index) const {
    TensorInfo info = infos[index];
    for (size_t axis = 0; axis < info.dims.size(); ++axis)
      if (isOpen(index, axis))
        info.dims[axis] = unknownDim();
    return info;
  }

  /// Rewrites the extents `dims` of a value of the body for the graph around the loop.
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
  StructureNode *owner;
  std::vector<TensorInfo> infos;
  std::vector<std::pair<size_t, size_t>> opened; // value and axis
  std::vector<std::string> symbols;

  bool isOpen(size_t value, size_t axis) const { return llvm::is_contained(opened, std::pair(value, axis)); }
  void open(size_t value, size_t axis) {
    opened.emplace_back(value, axis);
    symbols.push_back(owner->graph.newSymbol(fmt::format("{}_{}_{}", owner->name, value, axis)));
    infos[value].dims[axis] = Dim::symbol(symbols.back());
  }
};

/// Number of iterations for the type of scanned results; unknown unless the compiler can tell.
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

namespace {

/// Where the carried value is an optional, the iteration's result becomes one, and the reverse for the value before the
/// first iteration. Returns true if no value before the loop has changed.
bool matchKinds(StructureNode &node, BodyImport &body, Values &initial, Values &made) {
  RunTimeValues values{node.graph, node.loc, node.name};
  bool same = true;
  for (size_t i = 0; i < initial.size(); ++i) {
    ValueKind before = node.graph.info(initial[i]).kind, after = node.graph.info(made[1 + i]).kind;
    if (isOptional(before) && !isOptional(after)) {
      made[1 + i] = values.as({made[1 + i], {}, false}, before, ElementType::invalid);
    } else if (isOptional(after) && !isOptional(before)) {
      body.pause();
      initial[i] = values.as({initial[i], {}, false}, after, ElementType::invalid);
      body.resume();
      same = false;
    }
  }
  return same;
}

} // namespace

std::optional<Values> emitLoop(StructureNode &node, const LoopParts &parts) {
  Values initial = parts.carried;
  CarriedInfos carried(node, initial);
  constexpr int rounds = 64; // each round opens at least one extent; loops have far fewer extents
  for (int round = 0; round < rounds; ++round) {
    BodyImport body(node, node.name, carried.arguments());
    std::optional<Values> made = parts.iterate(body);
    if (!made)
      return std::nullopt;
    if (!matchKinds(node, body, initial, *made)) {
      carried = CarriedInfos(node, initial);
      continue;
    }
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
      infos.push_back(carried.after(i));
    for (size_t i = 1 + parts.carried.size(); i < results.size(); ++i) {
      require(results[i].isTensor(), "a scanned output is {}, expected a tensor", name(results[i].kind));
      Dims dims = carried.outside(results[i].dims);
      dims.insert(dims.begin(), trips);
      infos.push_back({results[i].type, std::move(dims), std::nullopt});
    }
    llvm::SmallVector<mlir::Type> types;
    for (const TensorInfo &info : infos)
      types.push_back(nn::toMlirType(builder.getContext(), info));
    llvm::SmallVector<mlir::Value> values(initial.begin(), initial.end());
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

std::optional<Values> valuesOf(StructureNode &node, const std::vector<Entry> &entries) {
  RunTimeValues values{node.graph, node.loc, node.name};
  if (!allImported(entries))
    return std::nullopt;
  Values made;
  for (const Entry &entry : entries)
    made.push_back(values.of(entry));
  return made;
}

namespace {

/// Describes output `index` of both branches: an optional if either branch gives an optional.
struct BranchOutput {
  ValueKind kind;
  ElementType type; // of an empty sequence or optional
};

BranchOutput commonOutput(StructureNode &node, const Entry &a, const Entry &b) {
  auto typeOf = [&](const Entry &entry) {
    return entry.value                                  ? node.graph.info(entry.value).type
           : entry.sequence && !entry.sequence->empty() ? node.graph.info(entry.sequence->front()).type
                                                        : entry.type;
  };
  ElementType type = typeOf(a) != ElementType::invalid ? typeOf(a) : typeOf(b);
  ValueKind kinds[] = {kindOf(node.graph, a), kindOf(node.graph, b)};
  auto isSequence = [](ValueKind kind) { return kind == ValueKind::sequence || kind == ValueKind::optionalSequence; };
  bool sequence = (!a.absent && isSequence(kinds[0])) || (!b.absent && isSequence(kinds[1])) ||
                  (a.absent && b.absent && a.absentSequence);
  if (isOptional(kinds[0]) || isOptional(kinds[1]))
    return {sequence ? ValueKind::optionalSequence : ValueKind::optional, type};
  return {sequence ? ValueKind::sequence : ValueKind::tensor, type};
}

/// Ends both branches with values of equal kinds.
void closeBranches(StructureNode &node, BodyImport *bodies[2], std::vector<Entry> entries[2]) {
  RunTimeValues values{node.graph, node.loc, node.name};
  std::vector<BranchOutput> outputs;
  for (size_t i = 0; i < entries[0].size(); ++i)
    outputs.push_back(commonOutput(node, entries[0][i], entries[1][i]));
  for (int branch : {0, 1}) {
    bodies[branch]->resume();
    Values made;
    for (size_t i = 0; i < outputs.size(); ++i)
      made.push_back(values.as(entries[branch][i], outputs[i].kind, outputs[i].type));
    bodies[branch]->close(made);
  }
}

/// The open extents of inputs from which `value` is computed; nothing if `value` depends on anything else.
std::optional<std::set<std::string>> decidingSymbols(StructureNode &node, mlir::Value value) {
  constexpr size_t most = 1000; // operators; conditions on extents have a few
  std::set<std::string> symbols;
  llvm::SetVector<mlir::Value> open;
  open.insert(value);
  for (size_t i = 0; i < open.size(); ++i) {
    mlir::Operation *op = open[i].getDefiningOp();
    if (!op || open.size() > most || (!nn::recordOf(op) && !llvm::isa<nn::ConstantOp>(op)))
      return std::nullopt;
    if (!llvm::isa<nn::ShapeOp>(op)) {
      open.insert(op->operand_begin(), op->operand_end());
      continue;
    }
    std::vector<std::string> names;
    for (const Dim &dim : node.graph.info(op->getOperand(0)).dims) {
      if (isUnknown(dim))
        return std::nullopt;
      dim.collectSymbols(names);
    }
    symbols.insert(names.begin(), names.end());
  }
  return symbols.empty() ? std::nullopt : std::optional(symbols);
}

/// Describes output `index` of nn.if.
TensorInfo branchResult(StructureNode &node, mlir::Value condition, size_t index, TensorInfo a, const TensorInfo &b) {
  require(a.type == b.type && a.kind == b.kind, "output {} is {} of {} in one branch and {} of {} in the other", index,
          name(a.kind), name(a.type), name(b.kind), name(b.type));
  if (!a.isTensor())
    return commonItems(a, b);
  if (a.rank() != b.rank())
    if (auto symbols = decidingSymbols(node, condition))
      throw RankDepends{*symbols, node.name};
  if (a.rank() != b.rank())
    node.unsupported(
        fmt::format("its condition is computed at run time, and its branches give an output of rank {} and {}",
                    a.rank(), b.rank()));
  for (size_t axis = 0; axis < a.dims.size(); ++axis)
    if (!(a.dims[axis] == b.dims[axis]))
      a.dims[axis] = unknownDim();
  return a;
}

} // namespace

void emitIf(StructureNode &node, mlir::Value condition, const GraphRecord &thenGraph, const GraphRecord &elseGraph,
            const std::vector<Entry> &inputs) {
  require(thenGraph.outputs.size() == node.outputs.size() && elseGraph.outputs.size() == node.outputs.size(),
          "its branches have {} and {} outputs, expected {}", thenGraph.outputs.size(), elseGraph.outputs.size(),
          node.outputs.size());
  std::vector<Entry> entries[2];
  BodyImport thenBody(node, node.name + "_then", {});
  entries[0] = thenBody.run(thenGraph, inputs);
  thenBody.pause();
  BodyImport elseBody(node, node.name + "_else", {});
  entries[1] = elseBody.run(elseGraph, inputs);
  elseBody.pause();
  if (!allImported(entries[0]) || !allImported(entries[1]))
    return;
  BodyImport *bodies[] = {&thenBody, &elseBody};
  closeBranches(node, bodies, entries);

  std::vector<TensorInfo> infos = thenBody.results(), others = elseBody.results();
  for (size_t i = 0; i < infos.size(); ++i)
    infos[i] = branchResult(node, condition, i, std::move(infos[i]), others[i]);
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
