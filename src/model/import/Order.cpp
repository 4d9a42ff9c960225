// Orders the nodes that the outputs need: each one after its producers.
#include "import/Graph.h"

#include <algorithm>
#include <queue>

namespace lathe::source {
namespace {

/// Indices of a scope's nodes, producers first, otherwise in the order of the file. Nodes of a cycle, and nodes that
/// depend on it, are missing.
std::vector<int> afterProducers(const std::vector<std::vector<int>> &users, std::vector<int> missing) {
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < missing.size(); ++i)
    if (missing[i] == 0)
      ready.push(static_cast<int>(i));
  std::vector<int> order;
  while (!ready.empty()) {
    int index = ready.top();
    ready.pop();
    order.push_back(index);
    for (int user : users[static_cast<size_t>(index)])
      if (--missing[static_cast<size_t>(user)] == 0)
        ready.push(user);
  }
  return order;
}

} // namespace

void Graph::declareResults() {
  const auto &nodes = *scope->nodes;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string &output : nodes[i].outputs) {
      if (output.empty())
        continue;
      auto index = static_cast<int>(i);
      auto [at, added] = scope->values.emplace(output, GraphValue{{}, index, nullptr});
      if (added)
        continue;
      const GraphValue &other = at->second;
      fail("{}: output '{}' is already {}", nn::describe(nodeLocation(index)), output,
           other.producer >= 0 ? fmt::format("produced by node {} '{}'", other.producer, nameOf(other.producer))
           : other.initializer ? "an initializer"
                               : "an input of the graph");
    }
}

std::vector<int> Graph::nodesInOrder(const std::vector<std::string> &outputs) {
  declareResults();
  const auto &nodes = *scope->nodes;
  auto &values = scope->values;
  size_t count = nodes.size();
  std::vector<std::vector<std::string>> read;
  for (const NodeRecord &node : nodes)
    read.push_back(namesRead(node));
  /// -1 if no node of this scope produces the name. Names of outer scopes are already known.
  auto producerOf = [&](const std::string &name) {
    auto at = values.find(name);
    return at == values.end() ? -1 : at->second.producer;
  };

  // Nodes the outputs depend on.
  std::vector<bool> needed(count);
  std::vector<int> open;
  auto need = [&](const std::string &name) {
    if (int producer = producerOf(name); producer >= 0 && !needed[static_cast<size_t>(producer)]) {
      needed[static_cast<size_t>(producer)] = true;
      open.push_back(producer);
    }
  };
  for (const std::string &output : outputs) {
    require(find(output), "{}: output '{}' is not produced by any node", scope == &top ? fileName : scope->prefix,
            output);
    need(output);
  }
  while (!open.empty()) {
    auto index = static_cast<size_t>(open.back());
    open.pop_back();
    for (const std::string &input : read[index])
      need(input);
  }

  std::vector<int> missing(count);
  std::vector<std::vector<int>> users(count);
  for (size_t i = 0; i < count; ++i)
    for (const std::string &input : read[i]) {
      require(find(input), "{}: input '{}' is not produced by any node, input or initializer",
              nn::describe(nodeLocation(static_cast<int>(i))), input);
      if (int producer = producerOf(input); producer >= 0) {
        ++missing[i];
        users[static_cast<size_t>(producer)].push_back(static_cast<int>(i));
      }
    }
  std::vector<int> order = afterProducers(users, missing);
  if (order.size() < count) {
    std::vector<bool> placed(count);
    for (int index : order)
      placed[static_cast<size_t>(index)] = true;
    auto stuck = static_cast<int>(std::find(placed.begin(), placed.end(), false) - placed.begin());
    fail("{}: is part of a cycle or depends on one", nn::describe(nodeLocation(stuck)));
  }
  std::erase_if(order, [&](int index) { return !needed[static_cast<size_t>(index)]; });
  return order;
}

} // namespace lathe::source
