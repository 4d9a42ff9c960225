#include "import/Unfold.h"

#include <algorithm>

namespace lathe::source {
namespace {

// Limit on the nodes that unrolled loops and nested functions may produce.
constexpr int64_t mostNodes = 50000;

/// A scope for the nodes of a subgraph, which can also see the names of the outer scope.
Scope within(StructureNode &node, const std::vector<NodeRecord> &nodes, Scope &outer) {
  Scope scope;
  scope.outer = &outer;
  scope.nodes = &nodes;
  scope.prefix = outer.prefix;
  scope.version = outer.version;
  scope.line = node.line;
  scope.block = outer.block;
  scope.attributes = outer.attributes;
  scope.isFunction = outer.isFunction;
  return scope;
}

std::vector<std::string> outputsOf(const GraphRecord &graph) {
  std::vector<std::string> names;
  for (const ValueRecord &output : graph.outputs)
    names.push_back(output.name);
  return names;
}

} // namespace

const Entry &StructureNode::in(size_t index) const {
  require(index < inputs.size(), "input {} is missing", index);
  return inputs[index];
}

mlir::Value StructureNode::tensor(size_t index) const {
  const Entry &entry = in(index);
  ValueKind kind = entry.value ? graph.info(entry.value).kind : ValueKind::sequence;
  require(kind == ValueKind::tensor, "input {} is {}, expected a tensor", index,
          entry.value || entry.sequence ? lathe::name(kind) : "absent");
  return entry.value;
}

const Values &StructureNode::sequence(size_t index) const {
  const Entry &entry = in(index);
  require(entry.sequence.has_value(), "input {} is {}, expected a sequence", index,
          entry.value ? "a tensor" : "absent");
  return *entry.sequence;
}

const AttributeRecord *StructureNode::attr(const std::string &name) const {
  auto found = std::find_if(record.attributes.begin(), record.attributes.end(),
                            [&](const AttributeRecord &candidate) { return candidate.name == name; });
  return found == record.attributes.end() ? nullptr : &*found;
}

int64_t StructureNode::intAttr(const std::string &name, int64_t fallback) const {
  const AttributeRecord *found = attr(name);
  if (!found)
    return fallback;
  const auto *value = std::get_if<int64_t>(&found->value);
  require(value != nullptr, "attribute '{}' is not an integer", name);
  return *value;
}

std::vector<int64_t> StructureNode::intsAttr(const std::string &name, size_t count) const {
  const AttributeRecord *found = attr(name);
  if (!found)
    return std::vector<int64_t>(count, 0);
  const auto *values = std::get_if<std::vector<int64_t>>(&found->value);
  size_t size = values ? values->size() : 0;
  require(size == count, "attribute '{}' has {} values, expected {}", name, size, count);
  return values ? *values : std::vector<int64_t>();
}

const GraphRecord &StructureNode::subgraph(const std::string &name) const {
  const AttributeRecord *found = attr(name);
  require(found && found->graphs.size() == 1, "attribute '{}' is missing, expected a graph", name);
  return found->graphs[0];
}

std::optional<int64_t> StructureNode::scalar(const Entry &entry) const {
  const Tensor *known = entry.value ? graph.known.contents(entry.value) : nullptr;
  if (!known || known->elements() != 1)
    return std::nullopt;
  return known->asInteger(0);
}

void limitUnfolding(StructureNode &node) {
  if (node.graph.depth > mostNested || node.graph.nodesUnfolded > mostNodes)
    node.unsupported(
        fmt::format("functions and loops unfold to more than {} nodes or {} levels", mostNodes, mostNested));
}

Body::Body(StructureNode &node, const GraphRecord &graph)
    : graph(graph), constants(within(node, graph.nodes, node.graph.current())) {
  for (const TensorRecord &tensor : graph.initializers)
    require(constants.values.emplace(tensor.name, GraphValue{{}, -1, &tensor}).second,
            "there are two initializers '{}'", tensor.name);
}

std::vector<Entry> Body::run(StructureNode &node, const std::vector<Entry> &inputs, const std::string &prefix) {
  limitUnfolding(node);
  require(inputs.size() == graph.inputs.size(), "the body has {} inputs, expected {}", graph.inputs.size(),
          inputs.size());
  Scope scope = within(node, graph.nodes, constants);
  scope.prefix = prefix;
  for (size_t i = 0; i < inputs.size(); ++i)
    require(scope.values.emplace(graph.inputs[i].name, GraphValue{inputs[i], -1, nullptr}).second,
            "the body has two inputs '{}'", graph.inputs[i].name);
  return node.graph.importWithin(scope, nullptr, outputsOf(graph));
}

std::vector<Entry> importBranch(StructureNode &node, const GraphRecord &graph) {
  require(graph.outputs.size() == node.outputs.size(), "a branch has {} outputs, expected {}", graph.outputs.size(),
          node.outputs.size());
  Scope scope = within(node, graph.nodes, node.graph.current());
  return node.graph.importWithin(scope, &graph.initializers, outputsOf(graph));
}

bool allImported(const std::vector<Entry> &entries) {
  return std::all_of(entries.begin(), entries.end(), [](const Entry &entry) { return entry.imported(); });
}

void importFunctionCall(StructureNode &node, const FunctionRecord &function) {
  limitUnfolding(node);
  Scope scope;
  scope.nodes = &function.nodes;
  scope.prefix = node.name + "/";
  scope.line = node.line;
  scope.block = node.graph.current().block;
  scope.isFunction = true;
  scope.version = function.version.value_or(node.graph.version());
  require(node.inputs.size() <= function.inputs.size(), "has {} inputs, function '{}' takes {}", node.inputs.size(),
          function.name, function.inputs.size());
  require(node.outputs.size() <= function.outputs.size(), "has {} outputs, function '{}' has {}", node.outputs.size(),
          function.name, function.outputs.size());
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    Entry given = i < node.inputs.size() ? node.inputs[i] : Entry{{}, {}, true};
    require(scope.values.emplace(function.inputs[i], GraphValue{given, -1, nullptr}).second,
            "function '{}' has two inputs '{}'", function.name, function.inputs[i]);
  }
  for (const AttributeRecord &attribute : function.defaults)
    scope.attributes[attribute.name] = &attribute;
  for (const AttributeRecord &attribute : node.record.attributes)
    scope.attributes[attribute.name] = &attribute;
  std::vector<std::string> wanted;
  std::vector<size_t> positions;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.record.outputs[i].empty()) {
      wanted.push_back(function.outputs[i]);
      positions.push_back(i);
    }
  std::vector<Entry> results = node.graph.importWithin(scope, nullptr, wanted);
  for (size_t i = 0; i < results.size(); ++i)
    node.outputs[positions[i]] = results[i];
}

} // namespace lathe::source
