// Operators with subgraphs: an If becomes the branch that its condition takes, a Loop or Scan its iterations one after
// the other.
#include "import/onnx/Onnx.h"

#include <algorithm>

namespace lathe::onnx {
namespace {

constexpr int64_t mostIterations = 4096;

Node builderOf(StructureNode &node) { return Node(node.graph, node.record, node.loc, {}, node.name); }

/// The branch that is taken. Where only the run tells which, both are computed and every output is chosen: branches
/// have no effects, and a plan without jumps can place and fuse all of it.
void importIf(StructureNode &node) {
  limitUnfolding(node);
  require(node.inputs.size() == 1, "has {} inputs, expected 1", node.inputs.size());
  const GraphRecord &then = node.subgraph("then_branch"), &otherwise = node.subgraph("else_branch");
  if (std::optional<int64_t> condition = node.scalar(node.in(0))) {
    node.outputs = importBranch(node, *condition ? then : otherwise);
    return;
  }
  std::vector<Entry> a = importBranch(node, then), b = importBranch(node, otherwise);
  if (!allImported(a) || !allImported(b))
    return;
  Node builder = builderOf(node);
  mlir::Value condition = builder.reshape(node.tensor(0), {});
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].value || !b[i].value)
      node.unsupported("its condition is computed at run time, and a branch gives a sequence");
    const TensorInfo &x = node.graph.info(a[i].value), &y = node.graph.info(b[i].value);
    if (x.type != y.type || x.dims != y.dims || llvm::any_of(x.dims, isUnknown))
      node.unsupported(fmt::format("its condition is computed at run time, and its branches give {} and {}",
                                   str(x.dims), str(y.dims)));
    node.outputs[i].value = builder.emit("where", {condition, a[i].value, b[i].value});
  }
}

/// One tensor a step along a new axis.
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

void importLoop(StructureNode &node) {
  const GraphRecord &graph = node.subgraph("body");
  require(node.inputs.size() >= 2, "has {} inputs, expected at least 2", node.inputs.size());
  size_t carriedCount = node.inputs.size() - 2;
  require(graph.inputs.size() == carriedCount + 2, "the body has {} inputs, expected {}", graph.inputs.size(),
          carriedCount + 2);
  require(graph.outputs.size() == node.outputs.size() + 1, "the body has {} outputs, expected {}", graph.outputs.size(),
          node.outputs.size() + 1);
  require(node.outputs.size() >= carriedCount, "has {} outputs, expected at least {}", node.outputs.size(),
          carriedCount);

  std::optional<int64_t> trips, condition = 1;
  if (!node.in(0).absent) {
    trips = node.scalar(node.in(0));
    if (!trips)
      node.unsupported("its number of iterations is computed at run time");
  }
  if (!node.in(1).absent) {
    condition = node.scalar(node.in(1));
    if (!condition)
      node.unsupported("its condition is computed at run time");
  }
  Node builder = builderOf(node);
  Body body(node, graph);
  std::vector<Entry> carried(node.inputs.begin() + 2, node.inputs.end());
  std::vector<Values> scanned(node.outputs.size() - carriedCount);
  mlir::Value running = builder.constantScalar(ElementType::boolean, 1);
  for (int64_t trip = 0; *condition && (!trips || trip < *trips); ++trip) {
    if (trip >= mostIterations)
      node.unsupported(fmt::format("more than {} iterations", mostIterations));
    std::vector<Entry> inputs{{builder.constantInts({}, {trip}), {}, false}, {running, {}, false}};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    std::vector<Entry> results = body.run(node, inputs, fmt::format("{}#{}/", node.name, trip));
    if (!allImported(results))
      return;
    condition = node.scalar(results[0]);
    if (!condition)
      node.unsupported("its condition is computed at run time");
    carried.assign(results.begin() + 1, results.begin() + 1 + static_cast<int64_t>(carriedCount));
    for (size_t i = 0; i < scanned.size(); ++i) {
      const Entry &step = results[1 + carriedCount + i];
      if (!step.value)
        node.unsupported("a scanned output is not a tensor");
      scanned[i].push_back(step.value);
    }
  }
  for (size_t i = 0; i < carriedCount; ++i)
    node.outputs[i] = carried[i];
  for (size_t i = 0; i < scanned.size(); ++i) {
    if (scanned[i].empty())
      node.unsupported("it scans outputs and has no iterations");
    node.outputs[carriedCount + i].value = stacked(builder, scanned[i], 0);
  }
}

/// Step `at` of x along an axis, which is gone in the result.
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

/// The number of iterations: the extent of every scanned input along its axis. Negative axes are made positive.
int64_t scanSteps(StructureNode &node, size_t stateCount, std::vector<int64_t> &axes) {
  std::optional<int64_t> steps;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dims &dims = node.graph.info(node.tensor(stateCount + i)).dims;
    auto rank = static_cast<int64_t>(dims.size());
    int64_t &axis = axes[i];
    require(axis >= -rank && axis < rank, "scan axis {} is not one of {}", axis, rank);
    axis += axis < 0 ? rank : 0;
    if (!dims[static_cast<size_t>(axis)].isConstant())
      node.unsupported("its number of iterations is symbolic");
    int64_t extent = dims[static_cast<size_t>(axis)].constant();
    require(!steps || *steps == extent, "scanned inputs have {} and {} steps", *steps, extent);
    steps = extent;
  }
  if (*steps > mostIterations || *steps < 1)
    node.unsupported(fmt::format("{} iterations, expected 1 to {}", *steps, mostIterations));
  return *steps;
}

void importScan(StructureNode &node) {
  if (node.graph.version() < 9)
    node.unsupported("Scan before opset 9");
  const GraphRecord &graph = node.subgraph("body");
  int64_t scans = node.intAttr("num_scan_inputs", 0);
  require(scans >= 1 && scans <= static_cast<int64_t>(node.inputs.size()), "num_scan_inputs is {}, expected 1 to {}",
          scans, node.inputs.size());
  size_t stateCount = node.inputs.size() - static_cast<size_t>(scans);
  require(graph.outputs.size() == node.outputs.size() && node.outputs.size() >= stateCount,
          "the body has {} outputs, expected {}", graph.outputs.size(), node.outputs.size());
  size_t outputCount = node.outputs.size() - stateCount;
  auto inputAxes = node.intsAttr("scan_input_axes", static_cast<size_t>(scans));
  auto inputReversed = node.intsAttr("scan_input_directions", static_cast<size_t>(scans));
  auto outputAxes = node.intsAttr("scan_output_axes", outputCount);
  auto outputReversed = node.intsAttr("scan_output_directions", outputCount);

  Node builder = builderOf(node);
  int64_t trips = scanSteps(node, stateCount, inputAxes);
  Body body(node, graph);
  std::vector<Entry> state(node.inputs.begin(), node.inputs.begin() + static_cast<int64_t>(stateCount));
  std::vector<Values> scanned(outputCount);
  for (int64_t trip = 0; trip < trips; ++trip) {
    std::vector<Entry> inputs = state;
    for (size_t i = 0; i < inputAxes.size(); ++i)
      inputs.push_back(
          {sliced(builder, node.tensor(stateCount + i), inputAxes[i], inputReversed[i] ? trips - 1 - trip : trip),
           {},
           false});
    std::vector<Entry> results = body.run(node, inputs, fmt::format("{}#{}/", node.name, trip));
    if (!allImported(results))
      return;
    state.assign(results.begin(), results.begin() + static_cast<int64_t>(stateCount));
    for (size_t i = 0; i < outputCount; ++i) {
      require(results[stateCount + i].value != nullptr, "a scanned output is not a tensor");
      scanned[i].push_back(results[stateCount + i].value);
    }
  }
  for (size_t i = 0; i < stateCount; ++i)
    node.outputs[i] = state[i];
  for (size_t i = 0; i < outputCount; ++i) {
    if (outputReversed[i])
      std::reverse(scanned[i].begin(), scanned[i].end());
    node.outputs[stateCount + i].value = stacked(builder, scanned[i], outputAxes[i]);
  }
}

/// The body on every tensor of the first sequence; of other operands sequences go along, tensors are the same each
/// time.
void importSequenceMap(StructureNode &node) {
  size_t count = node.sequence(0).size();
  Body body(node, node.subgraph("body"));
  std::vector<Values> made(node.outputs.size());
  for (size_t i = 0; i < count; ++i) {
    std::vector<Entry> inputs;
    for (const Entry &input : node.inputs) {
      require(!input.sequence || input.sequence->size() == count, "sequences have {} and {} tensors", count,
              input.sequence ? input.sequence->size() : 0);
      inputs.push_back(input.sequence ? Entry{(*input.sequence)[i], {}, false} : input);
    }
    std::vector<Entry> results = body.run(node, inputs, fmt::format("{}#{}/", node.name, i));
    if (!allImported(results))
      return;
    require(results.size() == made.size(), "the body has {} outputs, expected {}", results.size(), made.size());
    for (size_t k = 0; k < made.size(); ++k) {
      require(results[k].value != nullptr, "an output of the body is not a tensor");
      made[k].push_back(results[k].value);
    }
  }
  for (size_t k = 0; k < made.size(); ++k)
    node.outputs[k] = {{}, std::move(made[k]), false};
}

} // namespace

StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &inputs) {
  static const std::unordered_map<std::string, StructureHandler> table = {
      {"If", importIf},
      {"Loop", importLoop},
      {"Scan", importScan},
      {"SequenceMap", importSequenceMap},
  };
  if (!node.domain.empty())
    return nullptr;
  auto found = table.find(node.op);
  return found != table.end() ? found->second : sequenceHandler(node, inputs);
}

} // namespace lathe::onnx
