// Calls, branches and loops. Their subgraphs are functions of the library, or graphs that Frames.cpp has rebuilt.
#include "import/tensorflow/Refusal.h"

#include <cstring>
#include <set>

namespace lathe::tensorflow {
namespace {

const Library *libraryOf(const NodeRecord &node) { return static_cast<const Library *>(node.source); }

constexpr size_t mostBranches = 1024; // of a Case: they become a tree of branches ten levels deep

const GraphRecord *functionOf(const NodeRecord &node, const std::string &name) {
  const Library *library = libraryOf(node);
  if (!library)
    return nullptr;
  auto found = library->functions.find(name);
  return found == library->functions.end() ? nullptr : &found->second;
}

/// The subgraph that an attribute holds or names; null if there is none.
const GraphRecord *subgraphOf(const NodeRecord &node, const AttributeRecord *attribute) {
  if (attribute && !attribute->graphs.empty())
    return &attribute->graphs[0];
  const auto *name = attribute ? std::get_if<std::string>(&attribute->value) : nullptr;
  return name ? functionOf(node, *name) : nullptr;
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

void callGraph(StructureNode &node, const GraphRecord &graph, const std::vector<Entry> &inputs) {
  node.outputs.resize(graph.outputs.size());
  importInline(node, graph, inputs);
}

void importCall(StructureNode &node) { callGraph(node, subgraph(node, "f"), node.inputs); }

/// A node whose operator is the name of a function.
void importNamedCall(StructureNode &node) {
  callGraph(node, libraryOf(node.record)->functions.at(node.record.op), node.inputs);
}

/// A condition that is not bool is true if it is not zero.
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

NodeRecord nodeOf(const NodeRecord &like, const std::string &name, const char *op, std::vector<std::string> inputs) {
  NodeRecord record;
  record.name = name;
  record.op = op;
  record.inputs = std::move(inputs);
  record.outputs = {name};
  record.source = like.source;
  return record;
}

/// Sets several results, with the names of the results of `like`.
void setResults(NodeRecord &node, GraphRecord &graph, size_t count) {
  node.outputs.clear();
  for (size_t i = 0; i < count; ++i) {
    node.outputs.push_back(i ? fmt::format("{}:{}", node.name, i) : node.name);
    graph.outputs.push_back(ValueRecord::named(node.outputs.back()));
  }
}

template <class Value> void addAttribute(NodeRecord &node, const char *name, Value value) {
  AttributeRecord attribute;
  attribute.name = name;
  if constexpr (std::is_same_v<Value, GraphRecord>)
    attribute.graphs.push_back(std::move(value));
  else
    attribute.value = std::move(value);
  node.attributes.push_back(std::move(attribute));
}

/// A graph that calls function `name` with all inputs of a Case but the index. The graph reads names of outer scopes.
GraphRecord caseCall(const NodeRecord &node, const std::string &name, size_t results) {
  GraphRecord graph;
  NodeRecord call =
      nodeOf(node, node.name + "/" + name, "PartitionedCall", {node.inputs.begin() + 1, node.inputs.end()});
  addAttribute(call, "f", name);
  setResults(call, graph, results);
  graph.nodes.push_back(std::move(call));
  return graph;
}

/// Makes a node that gives a number.
NodeRecord numberNode(const NodeRecord &like, const std::string &name, size_t value) {
  NodeRecord number = nodeOf(like, name, "Const", {});
  auto read = [value](const std::string &) {
    auto element = static_cast<int64_t>(value);
    TensorData data{ElementType::i64, {}, {}, {}};
    data.bytes.resize(sizeof element);
    std::memcpy(data.bytes.data(), &element, sizeof element);
    return data;
  };
  addAttribute(number, "value", TensorRecord{"", ElementType::i64, "int64", read, {}});
  return number;
}

/// Branches `first` to `last` (exclusive) as a tree of If nodes. `index` is the name of an index in this range.
GraphRecord caseGraph(const NodeRecord &node, const std::string &index, const std::vector<std::string> &branches,
                      size_t first, size_t last, size_t results) {
  if (first + 1 == last)
    return caseCall(node, branches[first], results);
  size_t middle = first + (last - first) / 2;
  GraphRecord graph;
  std::string prefix = fmt::format("{}/case{}", node.name, middle);
  NodeRecord number = numberNode(node, prefix + "/index", middle);
  NodeRecord less = nodeOf(node, prefix + "/less", "Less", {index, number.name});
  NodeRecord branch = nodeOf(node, prefix, "If", {less.name});
  addAttribute(branch, "then_branch", caseGraph(node, index, branches, first, middle, results));
  addAttribute(branch, "else_branch", caseGraph(node, index, branches, middle, last, results));
  setResults(branch, graph, results);
  for (NodeRecord *each : {&number, &less, &branch})
    graph.nodes.push_back(std::move(*each));
  return graph;
}

/// Calls one of several functions, chosen by an index; an index out of range chooses the last function.
void importCase(StructureNode &node) {
  const AttributeRecord *given = node.attr("branches");
  const auto *branches = given ? std::get_if<std::vector<std::string>>(&given->value) : nullptr;
  size_t count = branches ? branches->size() : 0;
  require(count >= 1 && count <= mostBranches, "its attribute 'branches' names {} functions, expected 1 to {}", count,
          mostBranches);
  mlir::Value position = node.tensor(0);
  size_t results = node.outputs.size();
  constexpr size_t mostNames = size_t(1) << 20; // every branch has a call with all of the names
  require((node.record.inputs.size() + results) * count <= mostNames,
          "has {} inputs and results for each of {} branches, expected at most {} in all",
          node.record.inputs.size() + results, count, mostNames);
  auto last = static_cast<int64_t>(count) - 1;
  if (std::optional<int64_t> index = node.scalar(node.in(0))) {
    bool named = *index >= 0 && *index < last;
    return callGraph(node, caseCall(node.record, branches->at(static_cast<size_t>(named ? *index : last)), results),
                     {});
  }
  Node builder(node.graph, node.record, node.loc, {}, node.name);
  mlir::Value index = builder.reshape(builder.cast(position, ElementType::i64), {});
  mlir::Value below = builder.emit("less", {index, builder.constantInts({}, {0})}),
              end = builder.constantInts({}, {last});
  Entry chosen;
  chosen.value = builder.emit("where", {below, end, builder.emit("min", {index, end})});
  std::string name = node.record.name + "/chosen";
  GraphRecord tree = caseGraph(node.record, name, *branches, 0, count, results);
  tree.inputs.push_back(ValueRecord::named(name));
  callGraph(node, tree, {chosen});
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
      {"Case", {importCase, "branches, or nn.if"}},
      {"If", {importIf, "a branch, or nn.if"}},
      {"PartitionedCall", {importCall, "the operators of the function"}},
      {"StatefulPartitionedCall", {importCall, "the operators of the function"}},
      {"StatelessCase", {importCase, "branches, or nn.if"}},
      {"StatelessIf", {importIf, "a branch, or nn.if"}},
      {"StatelessWhile", {importWhile, "nn.loop"}},
      {"While", {importWhile, "nn.loop"}}};
  return table;
}

/// Why a node is refused regardless of its inputs; "" if its record alone gives no reason.
std::string refusal(const NodeRecord &node) {
  auto row = importers().find(node.op);
  if (row == importers().end())
    return "the operator is not supported" + format().suggestionFor(node.op);
  const char *reason = row->second.run ? refusalOfBatchNorm(node) : row->second.reason;
  return reason ? reason : "";
}

/// Collects the unknown operators of a graph and of the graphs that it calls, each graph once.
class UnknownOperators {
public:
  std::vector<ImportIssue> issues;

  void within(const NodeRecord &node, const std::string &scope, int depth) {
    if (depth > mostNested)
      return;
    for (const AttributeRecord &attribute : node.attributes) {
      if (const GraphRecord *graph = subgraphOf(node, &attribute))
        each(*graph, scope + "/", depth);
      if (const auto *names = std::get_if<std::vector<std::string>>(&attribute.value))
        for (const std::string &name : *names)
          if (const GraphRecord *graph = functionOf(node, name))
            each(*graph, scope + "/", depth);
    }
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
      if (std::string reason = refusal(node); !reason.empty())
        issues.push_back({scope + oneLine(node.name), oneLine(node.op), 0, "", std::move(reason)});
    }
  }
};

} // namespace

StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &inputs) {
  if (StructureHandler soft = softSuppression(node, inputs))
    return soft;
  if (auto found = structures().find(node.op); found != structures().end())
    return found->second.handler;
  const Library *library = libraryOf(node);
  return library && library->functions.contains(node.op) ? importNamedCall : nullptr;
}

std::vector<ImportIssue> unknownWithin(const NodeRecord &node, const std::string &name) {
  UnknownOperators unknown;
  unknown.within(node, name, 0);
  const Library *library = libraryOf(node);
  if (!structures().contains(node.op) && !(library && library->functions.contains(node.op)))
    if (std::string reason = refusal(node); !reason.empty())
      unknown.issues.push_back({name, oneLine(node.op), 0, "", std::move(reason)});
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
