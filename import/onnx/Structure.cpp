// Subgraphs and functions: what is decided while importing never exists in the graph. A function becomes its nodes, an
// If the branch that its condition takes, a Loop or Scan its iterations one after the other.
#include "import/onnx/Node.h"

#include <set>

namespace lathe::onnx {
namespace {

// Unrolled loops and nested functions end here.
constexpr int64_t mostNodes = 50000;
constexpr int mostNested = 64;
constexpr int64_t mostIterations = 4096;

void limit(StructureNode &node) {
  if (node.graph.depth > mostNested || node.graph.nodesUnfolded > mostNodes)
    node.unsupported(
        fmt::format("functions and loops unfold to more than {} nodes or {} levels", mostNodes, mostNested));
}

/// A graph attribute; Error where it is missing.
const GraphProto &subgraph(StructureNode &node, const char *attr) {
  const AttributeProto *found = node.attr(attr);
  require(found && found->has_g(), "attribute '{}' is missing, expected a graph", attr);
  return found->g();
}

/// A scope for the nodes of a subgraph, which see the names around them.
Scope within(StructureNode &node, const google::protobuf::RepeatedPtrField<NodeProto> &nodes, Scope &outer) {
  Scope scope;
  scope.outer = &outer;
  scope.nodes = &nodes;
  scope.prefix = outer.prefix;
  scope.opset = outer.opset;
  scope.line = node.line;
  scope.attributes = outer.attributes;
  scope.isFunction = outer.isFunction;
  return scope;
}

std::vector<std::string> outputsOf(const GraphProto &graph) {
  std::vector<std::string> names;
  for (const ValueInfoProto &output : graph.output())
    names.push_back(output.name());
  return names;
}

/// True when every entry was imported; otherwise an issue has been reported inside.
bool allImported(const std::vector<Entry> &entries) {
  for (const Entry &entry : entries)
    if (!entry.imported())
      return false;
  return true;
}

/// Copies of a subgraph's initializers: a body is imported once an iteration.
struct Body {
  GraphProto graph;
  Scope constants; // around the iterations
  Body(StructureNode &node, const GraphProto &given)
      : graph(given), constants(within(node, graph.node(), node.graph.current())) {
    for (TensorProto &tensor : *graph.mutable_initializer())
      require(constants.values.emplace(tensor.name(), GraphValue{{}, -1, &tensor}).second,
              "there are two initializers '{}'", tensor.name());
  }
  std::vector<Entry> run(StructureNode &node, const std::vector<Entry> &inputs, const std::string &prefix) {
    limit(node);
    require(static_cast<int>(inputs.size()) == graph.input_size(), "the body has {} inputs, expected {}",
            graph.input_size(), inputs.size());
    Scope scope = within(node, graph.node(), constants);
    scope.prefix = prefix;
    for (size_t i = 0; i < inputs.size(); ++i)
      require(scope.values.emplace(graph.input(static_cast<int>(i)).name(), GraphValue{inputs[i], -1, nullptr}).second,
              "the body has two inputs '{}'", graph.input(static_cast<int>(i)).name());
    return node.graph.importWithin(scope, nullptr, outputsOf(graph));
  }
};

std::vector<Entry> importBranch(StructureNode &node, const GraphProto &graph) {
  GraphProto branch = graph;
  require(branch.output_size() == static_cast<int>(node.outputs.size()), "a branch has {} outputs, expected {}",
          branch.output_size(), node.outputs.size());
  Scope scope = within(node, branch.node(), node.graph.current());
  return node.graph.importWithin(scope, branch.mutable_initializer(), outputsOf(branch));
}

Node builderOf(StructureNode &node) { return Node(node.graph, node.proto, node.loc, {}, node.name); }

/// The branch that is taken. Where only the run tells which, both are computed and every output is chosen: branches
/// have no effects, and a plan without jumps can place and fuse all of it.
void importIf(StructureNode &node) {
  limit(node);
  require(node.inputs.size() == 1, "has {} inputs, expected 1", node.inputs.size());
  const GraphProto &then = subgraph(node, "then_branch"), &otherwise = subgraph(node, "else_branch");
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
  const GraphProto &graph = subgraph(node, "body");
  require(node.inputs.size() >= 2, "has {} inputs, expected at least 2", node.inputs.size());
  size_t carriedCount = node.inputs.size() - 2;
  require(graph.input_size() == static_cast<int>(carriedCount) + 2, "the body has {} inputs, expected {}",
          graph.input_size(), carriedCount + 2);
  require(graph.output_size() == static_cast<int>(node.outputs.size()) + 1, "the body has {} outputs, expected {}",
          graph.output_size(), node.outputs.size() + 1);
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

std::vector<int64_t> intsAttr(StructureNode &node, const char *name, size_t count) {
  const AttributeProto *found = node.attr(name);
  if (!found)
    return std::vector<int64_t>(count, 0);
  require(static_cast<size_t>(found->ints_size()) == count, "attribute '{}' has {} values, expected {}", name,
          found->ints_size(), count);
  return {found->ints().begin(), found->ints().end()};
}

void importScan(StructureNode &node) {
  if (node.graph.opset() < 9)
    node.unsupported("Scan before opset 9");
  const GraphProto &graph = subgraph(node, "body");
  int64_t scans = node.intAttr("num_scan_inputs", 0);
  require(scans >= 1 && scans <= static_cast<int64_t>(node.inputs.size()), "num_scan_inputs is {}, expected 1 to {}",
          scans, node.inputs.size());
  size_t stateCount = node.inputs.size() - static_cast<size_t>(scans);
  require(graph.output_size() == static_cast<int>(node.outputs.size()) && node.outputs.size() >= stateCount,
          "the body has {} outputs, expected {}", graph.output_size(), node.outputs.size());
  size_t outputCount = node.outputs.size() - stateCount;
  auto inputAxes = intsAttr(node, "scan_input_axes", static_cast<size_t>(scans));
  auto inputReversed = intsAttr(node, "scan_input_directions", static_cast<size_t>(scans));
  auto outputAxes = intsAttr(node, "scan_output_axes", outputCount);
  auto outputReversed = intsAttr(node, "scan_output_directions", outputCount);

  Node builder = builderOf(node);
  std::optional<int64_t> trips;
  for (size_t i = 0; i < inputAxes.size(); ++i) {
    const Dims &dims = node.graph.info(node.tensor(stateCount + i)).dims;
    auto rank = static_cast<int64_t>(dims.size());
    int64_t &axis = inputAxes[i];
    require(axis >= -rank && axis < rank, "scan axis {} is not one of {}", axis, rank);
    axis += axis < 0 ? rank : 0;
    if (!dims[static_cast<size_t>(axis)].isConstant())
      node.unsupported("its number of iterations is symbolic");
    int64_t extent = dims[static_cast<size_t>(axis)].constant();
    require(!trips || *trips == extent, "scanned inputs have {} and {} steps", *trips, extent);
    trips = extent;
  }
  if (*trips > mostIterations || *trips < 1)
    node.unsupported(fmt::format("{} iterations, expected 1 to {}", *trips, mostIterations));

  Body body(node, graph);
  std::vector<Entry> state(node.inputs.begin(), node.inputs.begin() + static_cast<int64_t>(stateCount));
  std::vector<Values> scanned(outputCount);
  for (int64_t trip = 0; trip < *trips; ++trip) {
    std::vector<Entry> inputs = state;
    for (size_t i = 0; i < inputAxes.size(); ++i) {
      int64_t at = inputReversed[i] ? *trips - 1 - trip : trip, axis = inputAxes[i];
      mlir::Value x = node.tensor(stateCount + i);
      mlir::Value step = builder.emit("slice", {x},
                                      {{"starts", std::vector<int64_t>{at}},
                                       {"ends", std::vector<int64_t>{at + 1}},
                                       {"axes", std::vector<int64_t>{axis}},
                                       {"steps", std::vector<int64_t>{1}}});
      Dims dims = builder.info(step).dims;
      dims.erase(dims.begin() + axis);
      inputs.push_back({builder.reshape(step, dims), {}, false});
    }
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
  Body body(node, subgraph(node, "body"));
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

void collectRead(const google::protobuf::RepeatedPtrField<NodeProto> &nodes, std::set<std::string> &read, int depth);

void collectRead(const GraphProto &graph, std::set<std::string> &read, int depth) {
  require(depth < mostNested, "subgraphs are nested more than {} deep", mostNested);
  std::set<std::string> own;
  for (const ValueInfoProto &input : graph.input())
    own.insert(input.name());
  for (const TensorProto &tensor : graph.initializer())
    own.insert(tensor.name());
  for (const NodeProto &node : graph.node())
    own.insert(node.output().begin(), node.output().end());
  std::set<std::string> inner;
  collectRead(graph.node(), inner, depth);
  for (const ValueInfoProto &output : graph.output())
    inner.insert(output.name());
  for (const std::string &name : inner)
    if (!own.contains(name))
      read.insert(name);
}

void collectRead(const google::protobuf::RepeatedPtrField<NodeProto> &nodes, std::set<std::string> &read, int depth) {
  for (const NodeProto &node : nodes) {
    for (const std::string &input : node.input())
      if (!input.empty())
        read.insert(input);
    for (const AttributeProto &attr : node.attribute()) {
      if (attr.has_g())
        collectRead(attr.g(), read, depth + 1);
      for (const GraphProto &graph : attr.graphs())
        collectRead(graph, read, depth + 1);
    }
  }
}

bool hasReference(const NodeProto &node) {
  for (const AttributeProto &attr : node.attribute()) {
    if (!attr.ref_attr_name().empty())
      return true;
    if (attr.has_g())
      for (const NodeProto &inner : attr.g().node())
        if (hasReference(inner))
          return true;
  }
  return false;
}

} // namespace

const Entry &StructureNode::in(size_t index) const {
  require(index < inputs.size(), "input {} is missing", index);
  return inputs[index];
}

mlir::Value StructureNode::tensor(size_t index) const {
  const Entry &entry = in(index);
  require(entry.value != nullptr, "input {} is {}, expected a tensor", index, entry.sequence ? "a sequence" : "absent");
  return entry.value;
}

const Values &StructureNode::sequence(size_t index) const {
  const Entry &entry = in(index);
  require(entry.sequence.has_value(), "input {} is {}, expected a sequence", index,
          entry.value ? "a tensor" : "absent");
  return *entry.sequence;
}

const AttributeProto *StructureNode::attr(const std::string &name) const {
  for (const AttributeProto &candidate : proto.attribute())
    if (candidate.name() == name)
      return &candidate;
  return nullptr;
}

int64_t StructureNode::intAttr(const std::string &name, int64_t fallback) const {
  const AttributeProto *found = attr(name);
  return found ? found->i() : fallback;
}

std::optional<int64_t> StructureNode::scalar(const Entry &entry) const {
  const Tensor *known = entry.value ? graph.known(entry.value) : nullptr;
  if (!known || known->elements() != 1)
    return std::nullopt;
  return known->asInteger(0);
}

std::vector<std::string> namesRead(const NodeProto &node) {
  std::set<std::string> read;
  for (const std::string &input : node.input())
    if (!input.empty())
      read.insert(input);
  for (const AttributeProto &attr : node.attribute()) {
    if (attr.has_g())
      collectRead(attr.g(), read, 0);
    for (const GraphProto &graph : attr.graphs())
      collectRead(graph, read, 0);
  }
  return {read.begin(), read.end()};
}

const NodeProto &withAttributes(const NodeProto &node, const Scope &scope, NodeProto &storage) {
  if (!scope.isFunction || !hasReference(node))
    return node;
  storage = node;
  storage.clear_attribute();
  for (const AttributeProto &attr : node.attribute()) {
    if (!attr.ref_attr_name().empty()) {
      auto given = scope.attributes.find(attr.ref_attr_name());
      if (given == scope.attributes.end())
        continue; // not given and without a default: the operator's own default holds
      AttributeProto &copy = *storage.add_attribute();
      copy = *given->second;
      copy.set_name(attr.name());
      continue;
    }
    AttributeProto &copy = *storage.add_attribute();
    copy = attr;
    if (attr.has_g())
      for (NodeProto &inner : *copy.mutable_g()->mutable_node()) {
        NodeProto replaced;
        if (&withAttributes(inner, scope, replaced) == &replaced)
          inner = replaced;
      }
  }
  return storage;
}

void importFunctionCall(StructureNode &node, const FunctionProto &function) {
  limit(node);
  Scope scope;
  scope.nodes = &function.node();
  scope.prefix = node.name + "/";
  scope.line = node.line;
  scope.isFunction = true;
  scope.opset = node.graph.opset();
  for (const OperatorSetIdProto &set : function.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx")
      scope.opset = set.version();
  require(node.inputs.size() <= static_cast<size_t>(function.input_size()), "has {} inputs, function '{}' takes {}",
          node.inputs.size(), function.name(), function.input_size());
  require(node.outputs.size() <= static_cast<size_t>(function.output_size()), "has {} outputs, function '{}' has {}",
          node.outputs.size(), function.name(), function.output_size());
  for (int i = 0; i < function.input_size(); ++i) {
    Entry given =
        static_cast<size_t>(i) < node.inputs.size() ? node.inputs[static_cast<size_t>(i)] : Entry{{}, {}, true};
    require(scope.values.emplace(function.input(i), GraphValue{given, -1, nullptr}).second,
            "function '{}' has two inputs '{}'", function.name(), function.input(i));
  }
  for (const AttributeProto &attr : function.attribute_proto())
    scope.attributes[attr.name()] = &attr;
  for (const AttributeProto &attr : node.proto.attribute())
    scope.attributes[attr.name()] = &attr;
  std::vector<std::string> wanted;
  std::vector<size_t> positions;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.proto.output(static_cast<int>(i)).empty()) {
      wanted.push_back(function.output(static_cast<int>(i)));
      positions.push_back(i);
    }
  std::vector<Entry> results = node.graph.importWithin(scope, nullptr, wanted);
  for (size_t i = 0; i < results.size(); ++i)
    node.outputs[positions[i]] = results[i];
}

StructureHandler structureHandler(const NodeProto &node, const std::vector<Entry> &inputs) {
  static const std::unordered_map<std::string, StructureHandler> table = {
      {"If", importIf},
      {"Loop", importLoop},
      {"Scan", importScan},
      {"SequenceMap", importSequenceMap},
  };
  if (!node.domain().empty() && node.domain() != "ai.onnx")
    return nullptr;
  auto found = table.find(node.op_type());
  return found != table.end() ? found->second : sequenceHandler(node, inputs);
}

} // namespace lathe::onnx
