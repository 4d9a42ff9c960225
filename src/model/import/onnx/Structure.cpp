// Operators with subgraphs. What the importer can decide disappears: an If becomes the branch that its condition takes,
// and a Loop or Scan of few iterations is unrolled. What only the run can decide becomes nn.if and nn.loop.
#include "import/Bodies.h"
#include "import/onnx/Onnx.h"

#include <algorithm>

namespace lathe::onnx {
namespace {

// Limits on unrolled iterations: in general, and for a loop that must be unrolled (because it carries a sequence, say).
constexpr int64_t alwaysUnrolled = 64, mostIterations = 4096;

/// A condition or a number of iterations as a scalar.
mlir::Value scalarOf(StructureNode &node, Node &builder, mlir::Value value, ElementType type) {
  const TensorInfo &info = node.graph.info(value);
  require(info.type == type, "a condition or number of iterations is {}, expected {}", name(info.type), name(type));
  return builder.reshape(value, {});
}

void importIf(StructureNode &node) {
  limitUnfolding(node);
  require(node.inputs.size() == 1, "has {} inputs, expected 1", node.inputs.size());
  const GraphRecord &then = node.subgraph("then_branch"), &otherwise = node.subgraph("else_branch");
  if (std::optional<int64_t> condition = node.scalar(node.in(0))) {
    node.outputs = importBranch(node, *condition ? then : otherwise);
    return;
  }
  Node builder = node.builder();
  emitIf(node, scalarOf(node, builder, node.tensor(0), ElementType::boolean), then, otherwise);
}

/// Joins the tensors of all steps along a new axis.
mlir::Value stacked(Node &builder, const Values &steps, int64_t axis) {
  Values parts;
  for (mlir::Value step : steps) {
    Dims dims = builder.info(step).dims;
    int64_t rank = static_cast<int64_t>(dims.size()) + 1;
    require(axis >= -rank && axis < rank, "scan axis {} is not one of {}", axis, rank);
    dims.insert(dims.begin() + (axis < 0 ? axis + rank : axis), Dim(1));
    parts.push_back(builder.reshape(step, dims));
  }
  return parts.size() == 1 ? parts[0] : builder.emit("concat", parts, {{"axis", axis}});
}

/// Remembers where the iterations of an unrolled loop begin, so that they can be erased if only the run can decide
/// whether there is a further iteration.
class Unrolling {
public:
  explicit Unrolling(StructureNode &node)
      : node(node), block(node.graph.builder.getInsertionBlock()), last(block->empty() ? nullptr : &block->back()) {}

  /// Erases everything emitted so far except constants, which other operations may use already.
  void undo() {
    for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(*block))) {
      if (&op == last)
        return;
      if (llvm::isa<nn::ConstantOp>(op))
        continue;
      for (mlir::Value result : op.getResults())
        node.graph.known.forget(result);
      op.erase();
    }
  }

private:
  StructureNode &node;
  mlir::Block *block;
  mlir::Operation *last;
};

/// A Loop node with its inputs checked.
struct LoopNode {
  StructureNode &node;
  const GraphRecord &graph;
  size_t carried, scanned;
  std::optional<int64_t> trips; // if known at import
};

LoopNode readLoop(StructureNode &node) {
  const GraphRecord &graph = node.subgraph("body");
  require(node.inputs.size() >= 2, "has {} inputs, expected at least 2", node.inputs.size());
  size_t carried = node.inputs.size() - 2;
  require(graph.inputs.size() == carried + 2, "the body has {} inputs, expected {}", graph.inputs.size(), carried + 2);
  require(graph.outputs.size() == node.outputs.size() + 1, "the body has {} outputs, expected {}", graph.outputs.size(),
          node.outputs.size() + 1);
  require(node.outputs.size() >= carried, "has {} outputs, expected at least {}", node.outputs.size(), carried);
  std::optional<int64_t> trips;
  if (!node.in(0).absent)
    trips = node.scalar(node.in(0));
  return {node, graph, carried, node.outputs.size() - carried, trips};
}

enum class Unrolled { done, failed, undecided };

/// Emits the iterations of a loop. Returns `undecided`, with nothing emitted, if only the run can decide whether there
/// is a further iteration, or if there are more than `most`.
Unrolled unroll(const LoopNode &loop, int64_t most) {
  StructureNode &node = loop.node;
  Unrolling emitted(node);
  Node builder = node.builder();
  Body body(node, loop.graph);
  std::optional<int64_t> condition = node.in(1).absent ? 1 : node.scalar(node.in(1));
  std::vector<Entry> carried(node.inputs.begin() + 2, node.inputs.end());
  std::vector<Values> scanned(loop.scanned);
  mlir::Value running = builder.constantScalar(ElementType::boolean, 1);
  for (int64_t trip = 0; condition && *condition && (!loop.trips || trip < *loop.trips); ++trip) {
    if (trip >= most) {
      emitted.undo();
      return Unrolled::undecided;
    }
    std::vector<Entry> inputs{{builder.constantInts({}, {trip}), {}, false}, {running, {}, false}};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    std::vector<Entry> results = body.run(node, inputs, fmt::format("{}#{}/", node.name, trip));
    if (!allImported(results))
      return Unrolled::failed;
    condition = node.scalar(results[0]);
    carried.assign(results.begin() + 1, results.begin() + 1 + static_cast<int64_t>(loop.carried));
    for (size_t i = 0; i < scanned.size(); ++i) {
      const Entry &step = results[1 + loop.carried + i];
      if (!step.value)
        node.unsupported("a scanned output is not a tensor");
      scanned[i].push_back(step.value);
    }
  }
  bool empty = llvm::any_of(scanned, [](const Values &steps) { return steps.empty(); });
  if (!condition || empty) {
    emitted.undo();
    return Unrolled::undecided;
  }
  for (size_t i = 0; i < loop.carried; ++i)
    node.outputs[i] = carried[i];
  for (size_t i = 0; i < scanned.size(); ++i)
    node.outputs[loop.carried + i].value = stacked(builder, scanned[i], 0);
  return Unrolled::done;
}

void loopAtRunTime(const LoopNode &loop) {
  StructureNode &node = loop.node;
  Node builder = node.builder();
  LoopParts parts;
  parts.tripCount = node.in(0).absent ? builder.constantInts({}, {std::numeric_limits<int64_t>::max()})
                                      : scalarOf(node, builder, node.tensor(0), ElementType::i64);
  parts.condition = node.in(1).absent ? builder.constantScalar(ElementType::boolean, 1)
                                      : scalarOf(node, builder, node.tensor(1), ElementType::boolean);
  parts.carried = *valuesOf(node, {node.inputs.begin() + 2, node.inputs.end()});
  parts.iterate = [&](BodyImport &body) -> std::optional<Values> {
    std::vector<Entry> inputs;
    for (size_t i = 0; i < loop.carried + 2; ++i)
      inputs.push_back({body.argument(i), {}, false});
    std::optional<Values> results = valuesOf(node, body.run(loop.graph, inputs));
    if (results)
      results->front() = scalarOf(node, builder, results->front(), ElementType::boolean);
    return results;
  };
  if (std::optional<Values> results = emitLoop(node, parts))
    for (size_t i = 0; i < results->size(); ++i)
      node.outputs[i].value = (*results)[i];
}

void importLoop(StructureNode &node) {
  LoopNode loop = readLoop(node);
  auto isTensor = [](const Entry &entry) { return static_cast<bool>(entry.value); };
  bool tensors = std::all_of(node.inputs.begin() + 2, node.inputs.end(), isTensor);
  if (loop.trips || node.in(0).absent)
    if (unroll(loop, tensors ? alwaysUnrolled : mostIterations) != Unrolled::undecided)
      return;
  loopAtRunTime(loop);
}

/// Step `at` of x along an axis; the result does not have this axis.
mlir::Value sliced(Node &builder, mlir::Value x, int64_t axis, int64_t at) {
  mlir::Value step = builder.emit("slice", {x},
                                  {{"starts", std::vector<int64_t>{at}},
                                   {"ends", std::vector<int64_t>{at + 1}},
                                   {"axes", std::vector<int64_t>{axis}},
                                   {"steps", std::vector<int64_t>{1}}});
  Dims dims = builder.info(step).dims;
  dims.erase(dims.begin() + axis);
  return builder.reshape(step, dims);
}

/// A Scan node with its attributes checked and axes made positive.
struct ScanNode {
  StructureNode &node;
  const GraphRecord &graph;
  size_t states, inputs, outputs;
  std::vector<int64_t> inputAxes, inputReversed, outputAxes, outputReversed;
  Dim trips = 0; // extent of the scanned inputs

  mlir::Value scannedInput(size_t i) const { return node.tensor(states + i); }
};

/// The number of iterations: the extent of every scanned input along its axis. Negative axes are made positive.
Dim scanSteps(ScanNode &scan) {
  std::optional<Dim> steps;
  for (size_t i = 0; i < scan.inputs; ++i) {
    const Dims &dims = scan.node.graph.info(scan.scannedInput(i)).dims;
    auto rank = static_cast<int64_t>(dims.size());
    int64_t &axis = scan.inputAxes[i];
    require(axis >= -rank && axis < rank, "scan axis {} is not one of {}", axis, rank);
    axis += axis < 0 ? rank : 0;
    const Dim &extent = dims[static_cast<size_t>(axis)];
    if (steps && steps->isConstant() && extent.isConstant())
      require(*steps == extent, "scanned inputs have {} and {} steps", steps->str(), extent.str());
    if (!steps || extent.isConstant())
      steps = extent;
  }
  return *steps;
}

ScanNode readScan(StructureNode &node) {
  const GraphRecord &graph = node.subgraph("body");
  int64_t scans = node.intAttr("num_scan_inputs", 0);
  require(scans >= 1 && scans <= static_cast<int64_t>(node.inputs.size()), "num_scan_inputs is {}, expected 1 to {}",
          scans, node.inputs.size());
  auto inputs = static_cast<size_t>(scans);
  size_t states = node.inputs.size() - inputs;
  require(graph.outputs.size() == node.outputs.size() && node.outputs.size() >= states,
          "the body has {} outputs, expected {}", graph.outputs.size(), node.outputs.size());
  size_t outputs = node.outputs.size() - states;
  ScanNode scan{node,
                graph,
                states,
                inputs,
                outputs,
                node.intsAttr("scan_input_axes", inputs),
                node.intsAttr("scan_input_directions", inputs),
                node.intsAttr("scan_output_axes", outputs),
                node.intsAttr("scan_output_directions", outputs)};
  scan.trips = scanSteps(scan);
  return scan;
}

/// Imports one iteration after the other.
void unrollScan(const ScanNode &scan, int64_t trips) {
  StructureNode &node = scan.node;
  Node builder = node.builder();
  Body body(node, scan.graph);
  std::vector<Entry> state(node.inputs.begin(), node.inputs.begin() + static_cast<int64_t>(scan.states));
  std::vector<Values> scanned(scan.outputs);
  for (int64_t trip = 0; trip < trips; ++trip) {
    std::vector<Entry> inputs = state;
    for (size_t i = 0; i < scan.inputs; ++i)
      inputs.push_back(
          {sliced(builder, scan.scannedInput(i), scan.inputAxes[i], scan.inputReversed[i] ? trips - 1 - trip : trip),
           {},
           false});
    std::vector<Entry> results = body.run(node, inputs, fmt::format("{}#{}/", node.name, trip));
    if (!allImported(results))
      return;
    state.assign(results.begin(), results.begin() + static_cast<int64_t>(scan.states));
    for (size_t i = 0; i < scan.outputs; ++i) {
      require(results[scan.states + i].value != nullptr, "a scanned output is not a tensor");
      scanned[i].push_back(results[scan.states + i].value);
    }
  }
  for (size_t i = 0; i < scan.states; ++i)
    node.outputs[i] = state[i];
  for (size_t i = 0; i < scan.outputs; ++i) {
    if (scan.outputReversed[i])
      std::reverse(scanned[i].begin(), scanned[i].end());
    node.outputs[scan.states + i].value = stacked(builder, scanned[i], scan.outputAxes[i]);
  }
}

/// Brings the steps of a scanned output, which nn.loop puts along axis 0, into the order and to the axis that Scan asks
/// for.
mlir::Value arranged(Node &builder, mlir::Value steps, int64_t axis, bool reversed) {
  if (reversed)
    steps = builder.emit("slice", {steps},
                         {{"starts", std::vector<int64_t>{-1}},
                          {"ends", std::vector<int64_t>{std::numeric_limits<int64_t>::min()}},
                          {"axes", std::vector<int64_t>{0}},
                          {"steps", std::vector<int64_t>{-1}}});
  auto rank = static_cast<int64_t>(builder.info(steps).rank());
  require(axis >= -rank && axis < rank, "scan axis {} is not one of {}", axis, rank);
  axis += axis < 0 ? rank : 0;
  if (axis == 0)
    return steps;
  std::vector<int64_t> permutation;
  for (int64_t i = 1; i < rank; ++i)
    permutation.push_back(i);
  permutation.insert(permutation.begin() + axis, 0);
  return builder.emit("transpose", {steps}, {{"perm", permutation}});
}

void scanAtRunTime(const ScanNode &scan) {
  StructureNode &node = scan.node;
  Node builder = node.builder();
  LoopParts parts;
  mlir::Value shape =
      builder.emit("shape", {scan.scannedInput(0)}, {{"start", scan.inputAxes[0]}, {"end", scan.inputAxes[0] + 1}});
  parts.tripCount = builder.reshape(shape, {});
  parts.condition = builder.constantScalar(ElementType::boolean, 1);
  parts.carried = *valuesOf(node, {node.inputs.begin(), node.inputs.begin() + static_cast<int64_t>(scan.states)});
  parts.iterate = [&](BodyImport &body) -> std::optional<Values> {
    std::vector<Entry> inputs;
    for (size_t i = 0; i < scan.states; ++i)
      inputs.push_back({body.argument(2 + i), {}, false});
    for (size_t i = 0; i < scan.inputs; ++i) {
      mlir::Value at = body.argument(0);
      if (scan.inputReversed[i]) { // trips - 1 - iteration
        mlir::Value last = builder.emit("sub", {parts.tripCount, builder.constantInts({}, {1})});
        at = builder.emit("sub", {last, at});
      }
      inputs.push_back({stepOf(builder, scan.scannedInput(i), at, scan.inputAxes[i]), {}, false});
    }
    std::optional<Values> results = valuesOf(node, body.run(scan.graph, inputs));
    if (results)
      results->insert(results->begin(), body.argument(1));
    return results;
  };
  std::optional<Values> results = emitLoop(node, parts);
  if (!results)
    return;
  for (size_t i = 0; i < results->size(); ++i) {
    bool state = i < scan.states;
    node.outputs[i].value = state ? (*results)[i]
                                  : arranged(builder, (*results)[i], scan.outputAxes[i - scan.states],
                                             scan.outputReversed[i - scan.states] != 0);
  }
}

void runScan(const ScanNode &scan) {
  int64_t trips = scan.trips.constantOr(0);
  if (trips >= 1 && trips <= alwaysUnrolled)
    unrollScan(scan, trips);
  else
    scanAtRunTime(scan);
}

/// Scan of opset 8: the first input (numbers of steps) is optional, and every tensor has a batch axis before the steps.
/// Each batch element becomes a Scan of the newer form.
void importBatchedScan(StructureNode &node) {
  require(node.inputs.size() >= 2, "has {} inputs, expected at least 2", node.inputs.size());
  if (!node.in(0).absent)
    node.unsupported("Scan of opset 8 with numbers of steps for each image (sequence_lens)");
  int64_t scans = node.intAttr("num_scan_inputs", 0);
  Dim batch = node.graph.info(node.tensor(1)).dims.empty() ? Dim(0) : node.graph.info(node.tensor(1)).dims[0];
  if (!batch.isConstant() || batch.constant() < 1 || batch.constant() > alwaysUnrolled)
    node.unsupported(fmt::format("Scan of opset 8 with a batch of {}, expected 1 to {}", batch.str(), alwaysUnrolled));
  Node builder = node.builder();
  std::vector<Values> made(node.outputs.size());
  for (int64_t image = 0; image < batch.constant(); ++image) {
    StructureNode one = node;
    one.name = fmt::format("{}#image{}", node.name, image);
    one.inputs.erase(one.inputs.begin());
    for (size_t i = 0; i < one.inputs.size(); ++i)
      one.inputs[i] = {sliced(builder, node.tensor(1 + i), 0, image), {}, false};
    auto count = static_cast<size_t>(scans);
    require(scans >= 1 && count <= one.inputs.size(), "num_scan_inputs is {}, expected 1 to {}", scans,
            one.inputs.size());
    ScanNode scan{one, one.subgraph("body"),           one.inputs.size() - count,         count,
                  0,   std::vector<int64_t>(count, 0), one.intsAttr("directions", count), {},
                  {}};
    require(scan.graph.outputs.size() == one.outputs.size() && one.outputs.size() >= scan.states,
            "the body has {} outputs, expected {}", scan.graph.outputs.size(), one.outputs.size());
    scan.outputs = one.outputs.size() - scan.states;
    scan.outputAxes.assign(scan.outputs, 0);
    scan.outputReversed.assign(scan.outputs, 0);
    scan.trips = scanSteps(scan);
    runScan(scan);
    if (!allImported(one.outputs))
      return;
    for (size_t i = 0; i < made.size(); ++i)
      made[i].push_back(one.outputs[i].value);
  }
  for (size_t i = 0; i < made.size(); ++i)
    node.outputs[i].value = stacked(builder, made[i], 0);
}

void importScan(StructureNode &node) {
  if (node.graph.version() < 9)
    return importBatchedScan(node);
  runScan(readScan(node));
}

} // namespace

StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &inputs) {
  static const std::unordered_map<std::string, StructureHandler> table = {
      {"If", importIf},
      {"Loop", importLoop},
      {"Scan", importScan},
      {"FlexAttention", importFlexAttention},
      {"LinearAttention", importLinearAttention},
  };
  if (!node.domain.empty())
    return nullptr;
  auto found = table.find(node.op);
  return found != table.end() ? found->second : sequenceHandler(node, inputs);
}

} // namespace lathe::onnx
