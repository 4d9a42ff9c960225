#include "stage/diff/GraphMatch.h"

#include <algorithm>

namespace lathe::stage {
namespace {
constexpr size_t mostReaders = 64; // limit on the pairs of readers of a value
constexpr size_t mostSkipped = 2;  // skipped operators on one path
constexpr int64_t smallest = 16;   // smallest constant, in elements, that identifies nodes

/// The operators that read each input.
std::vector<std::vector<size_t>> readersOfInputs(const GraphNodes &graph) {
  std::vector<std::vector<size_t>> readers(graph.inputs.size());
  for (size_t node = 0; node < graph.nodes.size(); ++node)
    for (const Source &source : graph.nodes[node].operands)
      if (source.kind == Source::input)
        readers[source.index].push_back(node);
  return readers;
}

/// Nodes without a partner that are reachable from operand `slot` of `node` or from its results, each with the number
/// of operators between.
struct Reached {
  size_t node, between;
};
void reachUp(const GraphNodes &graph, const std::vector<size_t> &partners, const Source &from, size_t between,
             std::vector<Reached> &reached) {
  if (from.kind != Source::node || partners[from.index] != GraphMatch::nobody || between > mostSkipped)
    return;
  reached.push_back({from.index, between});
  for (const Source &source : graph.nodes[from.index].operands)
    reachUp(graph, partners, source, between + 1, reached);
}
void reachDown(const GraphNodes &graph, const std::vector<size_t> &partners, size_t from, size_t between,
               std::vector<Reached> &reached) {
  for (const auto &uses : graph.nodes[from].uses) {
    if (uses.size() > mostReaders)
      continue;
    for (const GraphNode::Use &use : uses)
      if (partners[use.reader] == GraphMatch::nobody && between <= mostSkipped) {
        reached.push_back({use.reader, between});
        reachDown(graph, partners, use.reader, between + 1, reached);
      }
  }
}

} // namespace

GraphMatch::GraphMatch(const GraphNodes &a, const GraphNodes &b)
    : a(a), b(b), toB(a.nodes.size(), nobody), toA(b.nodes.size(), nobody) {
  pairPorts(a.inputs, b.inputs, inputsToB);
  pairPorts(a.outputs, b.outputs, outputsToB);
  offerContents();
  spread();
  offerPorts();
  spread();
  while (skip())
    spread();
  pairReplaced();
}

/// Pairs different operators in the same place: between the same value and partners that read them.
void GraphMatch::pairReplaced() {
  for (size_t x = 0; x < toB.size(); ++x)
    if (size_t y = toB[x]; y != nobody)
      for (size_t slot = 0; slot < std::min(a.nodes[x].operands.size(), b.nodes[y].operands.size()); ++slot) {
        const Source &from = a.nodes[x].operands[slot], &there = b.nodes[y].operands[slot];
        if (from.kind != Source::node || there.kind != Source::node || toB[from.index] != nobody ||
            toA[there.index] != nobody)
          continue;
        const auto &own = a.nodes[from.index].operands, &others = b.nodes[there.index].operands;
        if (!own.empty() && !others.empty() && own[0].kind != Source::constant && same(own[0], others[0])) {
          toB[from.index] = there.index;
          toA[there.index] = from.index;
        }
      }
}

/// Pairs ports by name, then in order if types and extents fit.
void GraphMatch::pairPorts(const std::vector<GraphPort> &own, const std::vector<GraphPort> &others,
                           std::vector<size_t> &partners) {
  partners.assign(own.size(), nobody);
  std::vector<char> taken(others.size(), 0);
  auto pair = [&](auto fits) {
    for (size_t i = 0; i < own.size(); ++i)
      for (size_t j = 0; j < others.size() && partners[i] == nobody; ++j)
        if (!taken[j] && fits(own[i], others[j])) {
          partners[i] = j;
          taken[j] = 1;
        }
  };
  pair([](const GraphPort &x, const GraphPort &y) { return x.name == y.name; });
  pair([](const GraphPort &x, const GraphPort &y) { return x.type == y.type && compatible(x.extents, y.extents); });
  pair([](const GraphPort &x, const GraphPort &y) { return x.extents.size() == y.extents.size(); });
}

bool GraphMatch::same(const Source &x, const Source &y) const {
  if (x.kind != y.kind || x.result != y.result)
    return false;
  switch (x.kind) {
  case Source::none:
    return true;
  case Source::node:
    return toB[x.index] == y.index;
  case Source::input:
    return inputsToB[x.index] == y.index;
  case Source::constant:
    return a.constants[x.index].content == b.constants[y.index].content;
  }
  return false;
}

size_t GraphMatch::slotOf(size_t x, size_t y, size_t slot) const {
  const GraphNode &own = a.nodes[x], &other = b.nodes[y];
  if (!own.commutes || own.operands.size() != 2 || other.operands.size() != 2)
    return slot;
  auto agree = [&](size_t first) {
    int count = 0;
    for (size_t i : {0u, 1u})
      count += same(own.operands[i], other.operands[i ^ first])         ? 2
               : own.operands[i].kind == other.operands[i ^ first].kind ? 1
                                                                        : 0;
    return count;
  };
  return agree(1) > agree(0) ? slot ^ 1 : slot;
}

/// True if both read the same large constants.
bool GraphMatch::sameContent(size_t x, size_t y) const {
  const GraphNode &own = a.nodes[x], &other = b.nodes[y];
  bool any = false;
  for (size_t slot = 0; slot < own.operands.size(); ++slot) {
    const Source &source = own.operands[slot];
    if (source.kind != Source::constant || a.constants[source.index].elements < smallest)
      continue;
    size_t there = slotOf(x, y, slot);
    if (there >= other.operands.size() || !same(source, other.operands[there]))
      return false;
    any = true;
  }
  return any;
}

/// Evidence that two nodes with the same operator are partners.
int64_t GraphMatch::score(size_t x, size_t y) const {
  const GraphNode &own = a.nodes[x], &other = b.nodes[y];
  int64_t score = sameContent(x, y) ? 8 : 0;
  for (size_t slot = 0; slot < own.operands.size(); ++slot)
    if (size_t there = slotOf(x, y, slot); there < other.operands.size() && own.operands[slot].kind != Source::none &&
                                           same(own.operands[slot], other.operands[there]))
      score += 4;
  for (size_t result = 0; result < std::min(own.uses.size(), other.uses.size()); ++result) {
    if (own.uses[result].size() > mostReaders)
      continue;
    for (const GraphNode::Use &use : own.uses[result])
      if (size_t reader = toB[use.reader]; reader != nobody) {
        size_t slot = slotOf(use.reader, reader, use.slot);
        const auto &operands = b.nodes[reader].operands;
        if (slot < operands.size() && operands[slot] == Source{Source::node, y, static_cast<unsigned>(result)})
          score += 4;
      }
  }
  for (size_t i = 0; i < a.outputs.size(); ++i)
    if (outputsToB[i] != nobody)
      if (const Source &source = a.outputs[i].source, &there = b.outputs[outputsToB[i]].source;
          source.kind == Source::node && there.kind == Source::node && source.index == x && there.index == y &&
          source.result == there.result)
        score += 4;
  score += compatible(own.extents, other.extents) ? 3 : 0;
  score += own.attributes == other.attributes ? 1 : 0;
  return score + (own.name == other.name ? 1 : 0);
}

void GraphMatch::offer(size_t x, size_t y) {
  if (toB[x] == nobody && toA[y] == nobody && a.nodes[x].kind == b.nodes[y].kind)
    waiting.push({score(x, y), discovered++, x, y});
}

/// Offers pairs of nodes that are the only readers of constants with equal content.
void GraphMatch::offerContents() {
  std::map<std::string, std::pair<std::vector<size_t>, std::vector<size_t>>> readers;
  auto collect = [&](const GraphNodes &graph, bool first) {
    for (size_t node = 0; node < graph.nodes.size(); ++node) {
      std::vector<uint64_t> contents;
      for (const Source &source : graph.nodes[node].operands)
        if (source.kind == Source::constant && graph.constants[source.index].elements >= smallest)
          contents.push_back(graph.constants[source.index].content);
      std::sort(contents.begin(), contents.end());
      std::string key = graph.nodes[node].kind;
      for (uint64_t content : contents)
        key += fmt::format(" {:x}", content);
      if (!contents.empty())
        (first ? readers[key].first : readers[key].second).push_back(node);
    }
  };
  collect(a, true);
  collect(b, false);
  for (const auto &[key, nodes] : readers)
    if (nodes.first.size() == 1 && nodes.second.size() == 1)
      offer(nodes.first[0], nodes.second[0]);
}

void GraphMatch::offerPorts() {
  std::vector<std::vector<size_t>> own = readersOfInputs(a), others = readersOfInputs(b);
  for (size_t i = 0; i < a.inputs.size(); ++i)
    if (inputsToB[i] != nobody)
      for (size_t x : own[i])
        for (size_t y : others[inputsToB[i]])
          offer(x, y);
  for (size_t i = 0; i < a.outputs.size(); ++i)
    if (outputsToB[i] != nobody)
      if (const Source &x = a.outputs[i].source, &y = b.outputs[outputsToB[i]].source;
          x.kind == Source::node && y.kind == Source::node)
        offer(x.index, y.index);
}

void GraphMatch::offerNeighbours(size_t x, size_t y) {
  const GraphNode &own = a.nodes[x], &other = b.nodes[y];
  auto offerProducers = [&](const Source &from, const Source &there) {
    if (from.kind == Source::node && there.kind == Source::node)
      offer(from.index, there.index);
  };
  for (size_t slot = 0; slot < std::min(own.operands.size(), other.operands.size()); ++slot) {
    offerProducers(own.operands[slot], other.operands[slot]);
    if (own.commutes && other.operands.size() == 2 && own.operands.size() == 2)
      offerProducers(own.operands[slot], other.operands[slot ^ 1]);
  }
  for (size_t result = 0; result < std::min(own.uses.size(), other.uses.size()); ++result)
    if (own.uses[result].size() <= mostReaders && other.uses[result].size() <= mostReaders)
      for (const GraphNode::Use &use : own.uses[result])
        for (const GraphNode::Use &there : other.uses[result])
          if (use.slot == there.slot || a.nodes[use.reader].commutes)
            offer(use.reader, there.reader);
}

void GraphMatch::spread() {
  while (!waiting.empty()) {
    Pair pair = waiting.top();
    waiting.pop();
    if (toB[pair.x] != nobody || toA[pair.y] != nobody)
      continue;
    if (int64_t now = score(pair.x, pair.y); now > pair.score) { // neighbours have found partners since
      waiting.push({now, pair.order, pair.x, pair.y});
      continue;
    }
    toB[pair.x] = pair.y;
    toA[pair.y] = pair.x;
    offerNeighbours(pair.x, pair.y);
  }
}

/// Offers nodes that lie behind or before partners with few operators between. Returns true if one of them had not been
/// offered before.
bool GraphMatch::skip() {
  bool found = false;
  auto offerReached = [&](const std::vector<Reached> &own, const std::vector<Reached> &others) {
    for (size_t together = 1; together <= 2 * mostSkipped; ++together)
      for (const Reached &x : own)
        for (const Reached &y : others)
          if (x.between + y.between == together && a.nodes[x.node].kind == b.nodes[y.node].kind &&
              compatible(a.nodes[x.node].extents, b.nodes[y.node].extents) && offered.insert({x.node, y.node}).second) {
            offer(x.node, y.node);
            found = true;
          }
  };
  for (size_t x = 0; x < toB.size(); ++x) {
    size_t y = toB[x];
    if (y == nobody)
      continue;
    for (size_t slot = 0; slot < a.nodes[x].operands.size(); ++slot) {
      size_t there = slotOf(x, y, slot);
      std::vector<Reached> own, others;
      reachUp(a, toB, a.nodes[x].operands[slot], 0, own);
      if (there < b.nodes[y].operands.size() && !own.empty())
        reachUp(b, toA, b.nodes[y].operands[there], 0, others);
      offerReached(own, others);
    }
    std::vector<Reached> own, others;
    reachDown(a, toB, x, 0, own);
    if (!own.empty())
      reachDown(b, toA, y, 0, others);
    offerReached(own, others);
  }
  std::vector<std::vector<size_t>> atInputs = readersOfInputs(a), otherInputs = readersOfInputs(b);
  auto reachFrom = [](const GraphNodes &graph, const std::vector<size_t> &partners,
                      const std::vector<size_t> &readers) {
    std::vector<Reached> reached;
    for (size_t reader : readers)
      if (partners[reader] == nobody) {
        reached.push_back({reader, 0});
        reachDown(graph, partners, reader, 1, reached);
      }
    return reached;
  };
  for (size_t i = 0; i < a.inputs.size(); ++i)
    if (inputsToB[i] != nobody)
      offerReached(reachFrom(a, toB, atInputs[i]), reachFrom(b, toA, otherInputs[inputsToB[i]]));
  for (size_t i = 0; i < a.outputs.size(); ++i)
    if (outputsToB[i] != nobody) {
      std::vector<Reached> own, others;
      reachUp(a, toB, a.outputs[i].source, 0, own);
      reachUp(b, toA, b.outputs[outputsToB[i]].source, 0, others);
      offerReached(own, others);
    }
  return found;
}

} // namespace lathe::stage
