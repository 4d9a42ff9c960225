#include "import/Records.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace lathe::source {
namespace {

void collectRead(const std::vector<NodeRecord> &nodes, std::set<std::string> &read, int depth);

void collectRead(const GraphRecord &graph, std::set<std::string> &read, int depth) {
  require(depth < mostNested, "subgraphs are nested more than {} deep", mostNested);
  std::set<std::string> own;
  for (const ValueRecord &input : graph.inputs)
    own.insert(input.name);
  for (const TensorRecord &tensor : graph.initializers)
    own.insert(tensor.name);
  for (const NodeRecord &node : graph.nodes)
    own.insert(node.outputs.begin(), node.outputs.end());
  std::set<std::string> inner;
  collectRead(graph.nodes, inner, depth);
  for (const ValueRecord &output : graph.outputs)
    inner.insert(output.name);
  for (const std::string &name : inner)
    if (!own.contains(name))
      read.insert(name);
}

void collectRead(const NodeRecord &node, std::set<std::string> &read, int depth) {
  for (const std::string &input : node.inputs)
    if (!input.empty())
      read.insert(input);
  for (const AttributeRecord &attribute : node.attributes)
    for (const GraphRecord &graph : attribute.graphs)
      collectRead(graph, read, depth);
}

void collectRead(const std::vector<NodeRecord> &nodes, std::set<std::string> &read, int depth) {
  for (const NodeRecord &node : nodes)
    collectRead(node, read, depth + 1);
}

bool hasParameter(const NodeRecord &node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const AttributeRecord &attribute) {
    return !attribute.parameter.empty() ||
           std::any_of(attribute.graphs.begin(), attribute.graphs.end(), [](const GraphRecord &graph) {
             return std::any_of(graph.nodes.begin(), graph.nodes.end(), hasParameter);
           });
  });
}

} // namespace

int64_t checkedElements(const std::vector<int64_t> &dims, const std::string &what) {
  constexpr int64_t limit = int64_t(1) << 42;
  bool empty = false;
  int64_t count = 1;
  for (int64_t extent : dims) {
    require(extent >= 0, "{}: has extent {}, expected none below 0", what, extent);
    empty |= extent == 0;
  }
  for (int64_t extent : dims)
    if (!empty)
      require(!__builtin_mul_overflow(count, extent, &count) && count <= limit,
              "{}: has absurd dimensions, more than 2^42 elements", what);
  return empty ? 0 : count;
}

std::string oneLine(std::string name) {
  for (char &c : name)
    if (std::iscntrl(static_cast<unsigned char>(c)))
      c = '?';
  return name;
}

std::string nodeName(const NodeRecord &node) {
  std::string name = node.name;
  for (size_t i = 0; name.empty() && i < node.outputs.size(); ++i)
    name = node.outputs[i];
  return oneLine(std::move(name));
}

std::vector<std::string> namesRead(const NodeRecord &node) {
  std::set<std::string> read;
  collectRead(node, read, 0);
  return {read.begin(), read.end()};
}

const NodeRecord &withParameters(const NodeRecord &node, const std::map<std::string, const AttributeRecord *> &given,
                                 NodeRecord &storage) {
  if (!hasParameter(node))
    return node;
  storage = node;
  storage.attributes.clear();
  for (const AttributeRecord &attribute : node.attributes) {
    if (!attribute.parameter.empty()) {
      auto found = given.find(attribute.parameter);
      if (found == given.end())
        continue; // no value and no default: the default of the operator holds
      storage.attributes.push_back(*found->second);
      storage.attributes.back().name = attribute.name;
      continue;
    }
    storage.attributes.push_back(attribute);
    for (GraphRecord &graph : storage.attributes.back().graphs)
      for (NodeRecord &inner : graph.nodes) {
        NodeRecord replaced;
        if (&withParameters(inner, given, replaced) == &replaced)
          inner = std::move(replaced);
      }
  }
  return storage;
}

} // namespace lathe::source
