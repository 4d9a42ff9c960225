// Finds the ports of a frozen graph: placeholders are inputs; results that no node reads are outputs.
#include "import/tensorflow/Messages.h"

#include <set>

namespace lathe::tensorflow {
namespace {

std::string nodeOf(const std::string &tensor) { return tensor.substr(0, tensor.rfind(':')); }

/// The number of results of a node that become outputs if they are not read (lab/runners/tensorflow/NoOutputs.txt).
size_t outputCount(const NodeRecord &node) {
  static const std::set<std::string> without = {LATHE_NO_OUTPUTS};
  if (without.contains(node.op))
    return 0;
  size_t count = 0, all = resultCount(node);
  while (count < all && !without.contains(fmt::format("{}:{}", node.op, count)))
    ++count;
  return count;
}

bool isOp(const NodeRecord &node, std::initializer_list<const char *> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char *name) { return node.op == name || node.op == std::string("Ref") + name; });
}

/// Dependences between nodes: by data and by control inputs.
class Dependences {
public:
  Dependences(const GraphRecord &graph, const Waits &waits) {
    for (const NodeRecord &node : graph.nodes) {
      for (const std::string &input : node.inputs) {
        read.insert(nodeOf(input));
        readers[nodeOf(input)].push_back(&node);
      }
      auto names = waits.find(node.name);
      if (names == waits.end())
        continue;
      for (const std::string &name : names->second) {
        readers[name].push_back(&node);
        if (outputCount(node))
          awaited.insert(name);
      }
    }
    findBranches(graph);
  }

  bool isRead(const NodeRecord &node) const { return read.contains(node.name); }
  /// True for a node that is an output only if there are no better ones: another node waits for it; or it is in a
  /// branch without a Merge, so it has a value only if the branch is taken; or it leaves a loop unread, such as a
  /// counter.
  bool isAside(const NodeRecord &node) const {
    return awaited.contains(node.name) || inBranch.contains(node.name) || node.op == "Exit" || node.op == "RefExit";
  }

private:
  std::set<std::string> read, awaited, inBranch;
  std::map<std::string, std::vector<const NodeRecord *>> readers;

  void findBranches(const GraphRecord &graph) {
    std::vector<const NodeRecord *> open;
    for (const NodeRecord &node : graph.nodes)
      if (isOp(node, {"Switch"}))
        open.push_back(&node);
    while (!open.empty()) {
      const NodeRecord *node = open.back();
      open.pop_back();
      if (isOp(*node, {"Merge", "Exit"}) || !inBranch.insert(node->name).second)
        continue;
      const auto &next = readers[node->name];
      open.insert(open.end(), next.begin(), next.end());
    }
  }
};

void takePlaceholders(GraphRecord &graph, int64_t producer) {
  std::vector<NodeRecord> rest;
  for (NodeRecord &node : graph.nodes) {
    if (node.op != "Placeholder") {
      rest.push_back(std::move(node));
      continue;
    }
    const AttributeRecord *type = attributeOf(node, "dtype"), *shape = attributeOf(node, "shape");
    const auto *code = type ? std::get_if<int64_t>(&type->value) : nullptr;
    require(code, "node '{}' (Placeholder): has no attribute 'dtype'", oneLine(node.name));
    ValueRecord input = valueOf(node.name, static_cast<int32_t>(*code), nullptr);
    const auto *dims = shape ? std::get_if<std::vector<int64_t>>(&shape->value) : nullptr;
    // Graphs before version 24 stored the shape of a scalar for unknown shapes.
    if (dims && (!dims->empty() || producer >= 24)) {
      input.extents.emplace();
      for (int64_t extent : *dims)
        input.extents->push_back({extent < 0 ? std::nullopt : std::optional(extent), ""});
    }
    graph.inputs.push_back(std::move(input));
  }
  graph.nodes = std::move(rest);
}

} // namespace

void findInputsAndOutputs(GraphRecord &graph, const Waits &waits, int64_t producer) {
  Dependences dependences(graph, waits);
  std::vector<ValueRecord> aside;
  for (const NodeRecord &node : graph.nodes)
    for (size_t i = 0, count = dependences.isRead(node) ? 0 : outputCount(node); i < count; ++i)
      (dependences.isAside(node) ? aside : graph.outputs)
          .push_back(valueOf(i ? fmt::format("{}:{}", node.name, i) : node.name, 0, nullptr));
  if (graph.outputs.empty())
    graph.outputs = std::move(aside);
  for (ValueRecord &output : graph.outputs)
    output.type = ElementType::invalid;
  prune(graph);
  takePlaceholders(graph, producer);
}

} // namespace lathe::tensorflow
