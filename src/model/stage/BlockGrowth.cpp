#include "stage/BlockGrowth.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace lathe::stage {
namespace {
constexpr size_t mostReaders = 32; // of a result that the search follows: masks and extents have very many readers
constexpr uint32_t mostOrdinals = 8;
constexpr size_t mostVisits =
    64; // neighbours tried for each node of the graph: bounds the search from one kind of operator
} // namespace

BlockGrowth::BlockGrowth(const BlockGraph &graph, const std::vector<char> &taken, std::vector<uint32_t> regions)
    : graph(graph), taken(taken), regions(std::move(regions)), owner(graph.nodes.size(), -1),
      position(graph.nodes.size()) {}

void BlockGrowth::addEdges(uint32_t at) {
  const BlockGraph::Node &first = graph.nodes[groups[alive[0]][at]];
  for (uint32_t slot = 0; slot < first.operands.size(); ++slot)
    edges.push_back({at, false, 0, slot, 0, 0});
  for (uint32_t result = 0; result < first.uses.size(); ++result) {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> counts; // most readers in a group, by operand and label
    for (size_t group : alive) {
      const auto &uses = graph.nodes[groups[group][at]].uses[result];
      if (uses.size() > mostReaders)
        continue;
      std::map<std::pair<uint32_t, uint32_t>, uint32_t> own;
      for (const BlockGraph::Use &use : uses)
        ++own[{use.slot, graph.nodes[use.reader].label}];
      for (const auto &[key, count] : own)
        counts[key] = std::max(counts[key], std::min(count, mostOrdinals));
    }
    for (const auto &[key, count] : counts)
      for (uint32_t ordinal = 0; ordinal < count; ++ordinal)
        edges.push_back({at, true, result, key.first, key.second, ordinal});
  }
}

/// The node that `edge` leads to, if it is free; otherwise -1.
int32_t BlockGrowth::neighbour(size_t group, const Edge &edge) const {
  const BlockGraph::Node &from = graph.nodes[groups[group][edge.position]];
  int32_t found = -1;
  if (!edge.down) {
    found = from.operands[edge.slot].producer;
  } else {
    const auto &uses = from.uses[edge.result];
    uint32_t ordinal = edge.ordinal;
    if (uses.size() > mostReaders)
      return -1;
    for (const BlockGraph::Use &use : uses)
      if (use.slot == edge.slot && graph.nodes[use.reader].label == edge.label && ordinal-- == 0) {
        found = static_cast<int32_t>(use.reader);
        break;
      }
  }
  if (found < 0 || taken[static_cast<size_t>(found)] || owner[static_cast<size_t>(found)] >= 0)
    return -1;
  return regions[static_cast<size_t>(found)] == regions[groups[group][0]] ? found : -1;
}

/// The label of `node` and its edges from and to `group`, as numbers that are equal only for equal labels and edges.
std::vector<uint32_t> BlockGrowth::connections(size_t group, uint32_t node) const {
  const BlockGraph::Node &at = graph.nodes[node];
  std::vector<uint32_t> numbers{at.label};
  auto mine = [&](uint32_t other) { return owner[other] == static_cast<int32_t>(group); };
  for (uint32_t slot = 0; slot < at.operands.size(); ++slot)
    if (const auto &[producer, result] = at.operands[slot]; producer >= 0 && mine(static_cast<uint32_t>(producer)))
      numbers.insert(numbers.end(), {slot, position[static_cast<uint32_t>(producer)], result});
  numbers.push_back(UINT32_MAX);
  std::vector<std::array<uint32_t, 3>> readers;
  for (uint32_t result = 0; result < at.uses.size(); ++result)
    for (const BlockGraph::Use &use : at.uses[result])
      if (mine(use.reader))
        readers.push_back({result, position[use.reader], use.slot});
  std::sort(readers.begin(), readers.end());
  for (const auto &reader : readers)
    numbers.insert(numbers.end(), reader.begin(), reader.end());
  return numbers;
}

/// The largest set of groups for which `edge` leads to nodes with equal labels and connections.
std::vector<BlockGrowth::Step> BlockGrowth::follow(const Edge &edge) {
  visits += alive.size();
  std::map<std::vector<uint32_t>, std::vector<Step>> sets;
  std::set<uint32_t> claimed;
  for (size_t group : alive)
    if (int32_t node = neighbour(group, edge); node >= 0 && claimed.insert(static_cast<uint32_t>(node)).second)
      sets[connections(group, static_cast<uint32_t>(node))].push_back({group, static_cast<uint32_t>(node)});
  const std::vector<Step> *best = nullptr;
  for (const auto &[key, set] : sets)
    if (!best || set.size() > best->size() || (set.size() == best->size() && set[0].node < (*best)[0].node))
      best = &set;
  return best ? *best : std::vector<Step>();
}

void BlockGrowth::keep(std::vector<BlockCandidate> &candidates, size_t start) const {
  BlockCandidate candidate;
  for (size_t group : alive)
    candidate.groups.push_back(groups[group]);
  if (candidate.size() < 2 || candidate.saved() <= 0)
    return;
  // A candidate with smaller groups, but more of them, is useful only if it saves more.
  while (candidates.size() > start && candidates.back().saved() <= candidate.saved())
    candidates.pop_back();
  candidates.push_back(std::move(candidate));
}

/// Drops the groups that are not in `steps`, and frees their nodes.
void BlockGrowth::drop(const std::vector<Step> &steps) {
  std::set<size_t> stays;
  for (const Step &step : steps)
    stays.insert(step.group);
  for (size_t group : alive)
    if (!stays.count(group))
      for (uint32_t node : groups[group])
        owner[node] = -1;
  alive.assign(stays.begin(), stays.end());
  std::priority_queue<Waiting> again;
  for (; !waiting.empty(); waiting.pop())
    again.push({alive.size(), waiting.top().edge});
  for (size_t edge : idle)
    again.push({alive.size(), edge});
  idle.clear();
  waiting = std::move(again);
}

void BlockGrowth::grow(const std::vector<uint32_t> &seeds, std::vector<BlockCandidate> &candidates) {
  auto add = [&](size_t group, uint32_t node) {
    owner[node] = static_cast<int32_t>(group);
    position[node] = static_cast<uint32_t>(groups[group].size());
    groups[group].push_back(node);
  };
  auto extend = [&](uint32_t at) {
    size_t known = edges.size();
    addEdges(at);
    for (size_t edge = known; edge < edges.size(); ++edge)
      waiting.push({alive.size(), edge});
  };
  groups.assign(seeds.size(), {});
  edges.clear(), idle.clear(), alive.clear();
  waiting = {}, visits = 0;
  for (size_t group = 0; group < seeds.size(); ++group) {
    add(group, seeds[group]);
    alive.push_back(group);
  }
  const size_t start = candidates.size();
  extend(0);
  while (!waiting.empty() && visits < mostVisits * graph.nodes.size()) {
    Waiting next = waiting.top();
    waiting.pop();
    std::vector<Step> steps = follow(edges[next.edge]);
    if (steps.size() < 2) {
      idle.push_back(next.edge);
      continue;
    }
    if (!waiting.empty() && steps.size() < waiting.top().most) {
      waiting.push({steps.size(), next.edge});
      continue;
    }
    if (steps.size() < alive.size()) {
      keep(candidates, start);
      drop(steps);
    }
    for (const Step &step : steps)
      add(step.group, step.node);
    extend(static_cast<uint32_t>(groups[alive[0]].size() - 1));
  }
  keep(candidates, start);
  for (const auto &group : groups)
    for (uint32_t node : group)
      owner[node] = -1;
}

} // namespace lathe::stage
