// Calls, branches and loops. Their subgraphs are functions of the library, or graphs that Frames.cpp has rebuilt.
#include "import/tensorflow/TensorFlow.h"

#include <set>

namespace lathe::tensorflow {
namespace {

const Library *libraryOf(const NodeRecord &node) { return static_cast<const Library *>(node.source); }

/// The subgraph that an attribute holds or names; null if there is none.
const GraphRecord *subgraphOf(const NodeRecord &node, const AttributeRecord *attribute) {
  if (attribute && !attribute->graphs.empty())
    return &attribute->graphs[0];
  const auto *name = attribute ? std::get_if<std::string>(&attribute->value) : nullptr;
  const Library *library = libraryOf(node);
  if (!name || !library)
    return nullptr;
  auto found = library->functions.find(*name);
  return found == library->functions.end() ? nullptr : &found->second;
}

const GraphRecord &subgraph(const StructureNode &node, const char *attr) {
  const AttributeRecord *given = node.attr(attr);
  const auto *name = given ? std::get_if<std::string>(&given->value) : nullptr;
  if (const Library *library = libraryOf(node.record); name && library)
    if (auto broken = library->broken.find(*name); broken != library->broken.end())
      fail("its function '{}': {}", oneLine(*name), broken->second);
  const GraphRecord *graph = subgraphOf(node.record, given);
  require(graph != nullptr, "its attribute '{}' names no function of the file", attr);
  return *graph;
}

void callGraph(StructureNode &node, const GraphRecord &graph) {
  node.outputs.resize(graph.outputs.size());
  importInline(node, graph, node.inputs);
}

void importCall(StructureNode &node) { callGraph(node, subgraph(node, "f")); }

/// A node whose operator is the name of a function.
void importNamedCall(StructureNode &node) { callGraph(node, libraryOf(node.record)->functions.at(node.record.op)); }

/// A condition that is no truth value counts as true where it is not zero.
Entry asBool(StructureNode &node, const Entry &condition) {
  if (!condition.value || node.graph.info(condition.value).type == ElementType::boolean)
    return condition;
  Node builder(node.graph, node.record, node.loc, {}, node.name);
  mlir::Value zero = builder.constantScalar(node.graph.info(condition.value).type, 0);
  Entry result;
  result.value = builder.emit("not", {builder.emit("equal", {condition.value, zero})});
  return result;
}

void importIf(StructureNode &node) {
  const GraphRecord &then = subgraph(node, "then_branch"), &otherwise = subgraph(node, "else_branch");
  node.tensor(0);
  node.outputs.resize(then.outputs.size());
  std::vector<Entry> inputs;
  if (!then.inputs.empty() || !otherwise.inputs.empty())
    inputs.assign(node.inputs.begin() + 1, node.inputs.end());
  importBranches(node, asBool(node, node.in(0)), then, otherwise, inputs);
}

void importWhile(StructureNode &node) {
  ReserveFiller fill = [&node](mlir::Value reserve, const TensorInfo &made, const Values &carried) {
    return filledReserve(node, reserve, made, carried);
  };
  std::optional<Values> results =
      importWhileLoop(node, subgraph(node, "cond"), subgraph(node, "body"), node.inputs, fill);
  node.outputs.resize(std::max(node.outputs.size(), node.inputs.size()));
  for (size_t i = 0; results && i < results->size(); ++i)
    node.outputs[i].value = (*results)[i];
}

struct StructureRow {
  StructureHandler handler;
  const char *becomes;
};

const std::map<std::string, StructureRow> &structures() {
  static const std::map<std::string, StructureRow> table = {
      {"If", {importIf, "a branch, or nn.if"}},
      {"PartitionedCall", {importCall, "the operators of the function"}},
      {"StatefulPartitionedCall", {importCall, "the operators of the function"}},
      {"StatelessIf", {importIf, "a branch, or nn.if"}},
      {"StatelessWhile", {importWhile, "nn.loop"}},
      {"While", {importWhile, "nn.loop"}}};
  return table;
}

/// Collects the unknown operators of a graph and of what it calls; each graph once.
class UnknownOperators {
public:
  std::vector<ImportIssue> issues;

  void within(const NodeRecord &node, const std::string &scope, int depth) {
    if (depth > mostNested)
      return;
    for (const AttributeRecord &attribute : node.attributes)
      if (const GraphRecord *graph = subgraphOf(node, &attribute))
        each(*graph, scope + "/", depth);
    const Library *library = libraryOf(node);
    if (library && library->functions.contains(node.op))
      each(library->functions.at(node.op), scope + "/", depth);
  }

private:
  std::set<const GraphRecord *> seen;

  void each(const GraphRecord &graph, const std::string &scope, int depth) {
    if (!seen.insert(&graph).second)
      return;
    for (const NodeRecord &node : graph.nodes) {
      const Library *library = libraryOf(node);
      if (structures().contains(node.op) || (library && library->functions.contains(node.op))) {
        within(node, scope + oneLine(node.name), depth + 1);
        continue;
      }
      auto row = importers().find(node.op);
      if (row != importers().end() && row->second.run)
        continue;
      issues.push_back({scope + oneLine(node.name), oneLine(node.op), 0, "",
                        row == importers().end() ? "the operator is not supported" + format().suggestionFor(node.op)
                                                 : std::string(row->second.reason)});
    }
  }
};

} // namespace

StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &) {
  if (auto found = structures().find(node.op); found != structures().end())
    return found->second.handler;
  const Library *library = libraryOf(node);
  return library && library->functions.contains(node.op) ? importNamedCall : nullptr;
}

std::vector<ImportIssue> unknownWithin(const NodeRecord &node, const std::string &name) {
  UnknownOperators unknown;
  unknown.within(node, name, 0);
  return std::move(unknown.issues);
}

const std::map<std::string, const char *> &structureOperators() {
  static const std::map<std::string, const char *> table = [] {
    std::map<std::string, const char *> result;
    for (const auto &[op, row] : structures())
      result[op] = row.becomes;
    return result;
  }();
  return table;
}

} // namespace lathe::tensorflow
