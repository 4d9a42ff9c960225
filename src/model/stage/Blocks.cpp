#include "stage/Blocks.h"

#include "ir/Bridge.h"
#include "stage/BlockGrowth.h"
#include "support/UniqueNames.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

namespace lathe {
namespace {

using stage::BlockCandidate;
using stage::BlockGraph;

/// Chooses the blocks of a graph.
class BlockSearch {
public:
  explicit BlockSearch(const BlockGraph &graph) : graph(graph) {}

  std::vector<BlockCandidate> search() {
    // The block that saves most at first may leave little to save later, so in small graphs the best few are tried.
    const size_t tries = isLarge() ? 1 : 4;
    std::vector<BlockCandidate> best;
    int64_t bestWorth = 0;
    for (size_t least = smallest; least <= std::max(smallest, graph.nodes.size() / 4) && least <= 64; least *= 2)
      for (size_t skipped = 0; skipped < tries; ++skipped) {
        auto [cover, worth] = coverWith(least, skipped);
        if (worth > bestWorth) {
          best = std::move(cover);
          bestWorth = worth;
        }
      }
    return best;
  }

private:
  using Rank = std::tuple<int64_t, int64_t, int64_t, int64_t>;
  static constexpr size_t smallest = 2; // operations
  bool isLarge() const { return graph.nodes.size() > 3000; }
  const BlockGraph &graph;
  std::map<std::vector<char>, std::vector<BlockCandidate>> proposed; // by the taken nodes

  /// Candidates without the taken nodes, the greatest saving first: in the whole graph, and within the scopes of each
  /// depth.
  const std::vector<BlockCandidate> &propose(const std::vector<char> &taken) {
    auto [known, isNew] = proposed.try_emplace(taken);
    std::vector<BlockCandidate> &candidates = known->second;
    if (!isNew)
      return candidates;
    constexpr uint32_t deepest = 6;
    for (uint32_t depth = 0; depth <= deepest; ++depth) {
      std::vector<uint32_t> regions = graph.regions(depth);
      std::vector<std::vector<uint32_t>> seeds(graph.labels);
      std::set<std::pair<uint32_t, uint32_t>> seeded; // one seed for each label in a scope
      for (uint32_t node = 0; node < graph.nodes.size(); ++node)
        if (uint32_t label = graph.nodes[node].label;
            !taken[node] && (depth == 0 || (regions[node] && seeded.insert({regions[node], label}).second)))
          seeds[label].push_back(node);
      stage::BlockGrowth growth(graph, taken, std::move(regions));
      for (const std::vector<uint32_t> &nodes : seeds)
        if (nodes.size() > 1)
          growth.grow(nodes, candidates);
    }
    std::vector<std::pair<int64_t, size_t>> order; // greatest saving first, then order of discovery
    for (size_t i = 0; i < candidates.size(); ++i)
      order.push_back({-candidates[i].saved(), i});
    std::sort(order.begin(), order.end());
    std::vector<BlockCandidate> sorted;
    for (const auto &[saved, i] : order)
      sorted.push_back(std::move(candidates[i]));
    candidates = std::move(sorted);
    return candidates;
  }

  /// Half lines saved, and a third more if every group has a separate scope: one that neither contains another group's
  /// scope nor lies in it.
  int64_t value(const BlockCandidate &candidate, const std::vector<BlockCandidate> &chosen) const {
    std::set<uint32_t> scopes, around;
    auto add = [&](uint32_t scope) {
      bool own = scope != 0 && !around.count(scope);
      for (uint32_t outer = scope; outer; outer = graph.scopes[outer].parent)
        own = own && !scopes.count(outer);
      scopes.insert(scope);
      for (uint32_t outer = scope; outer; outer = graph.scopes[outer].parent)
        around.insert(outer);
      return own;
    };
    for (const BlockCandidate &block : chosen)
      for (const auto &group : block.groups)
        add(graph.scopeOf(group));
    for (const auto &group : candidate.groups)
      if (!add(graph.scopeOf(group)))
        return candidate.saved();
    return most(candidate);
  }
  static int64_t most(const BlockCandidate &candidate) { return candidate.saved() + candidate.saved() / 3; }

  /// Chooses blocks of at least `least` operations, the best first (without the `skipped` best ones), then smaller
  /// ones. Returns the blocks and their value.
  std::pair<std::vector<BlockCandidate>, int64_t> coverWith(size_t least, size_t skipped) {
    constexpr size_t mostBlocks = 32;
    std::vector<char> taken(graph.nodes.size(), 0);
    std::vector<BlockCandidate> chosen;
    int64_t worth = 0;
    while (chosen.size() < mostBlocks) {
      BlockCandidate next = bestOf(propose(taken), least, chosen.empty() ? skipped : 0, chosen);
      if (next.groups.empty() && least == smallest)
        break;
      if (next.groups.empty()) {
        least = smallest;
        continue;
      }
      // Large graphs without structure have very many small blocks. Only blocks that save at least half a percent are
      // useful.
      if (isLarge() && next.saved() * 100 < static_cast<int64_t>(graph.nodes.size()))
        break;
      for (const auto &group : next.groups)
        for (uint32_t node : group)
          taken[node] = 1;
      worth += value(next, chosen);
      chosen.push_back(std::move(next));
    }
    return {chosen, worth};
  }

  /// The candidate of most value, after skipping `skipped` better ones of other sizes. Of several equal ones, takes the
  /// one in the deepest scopes, then the one with the fewest values across its border, then the first one.
  BlockCandidate bestOf(const std::vector<BlockCandidate> &candidates, size_t least, size_t skipped,
                        const std::vector<BlockCandidate> &chosen) const {
    std::map<std::pair<size_t, size_t>, std::pair<Rank, BlockCandidate>> best; // by operations and occurrences
    auto ranked = [&] {
      std::vector<const std::pair<Rank, BlockCandidate> *> order;
      for (const auto &[key, entry] : best)
        order.push_back(&entry);
      llvm::sort(order, [](const auto *a, const auto *b) { return a->first > b->first; });
      return order;
    };
    for (const BlockCandidate &candidate : candidates) {
      if (candidate.size() < least)
        continue;
      if (best.size() > skipped && most(candidate) < std::get<0>(ranked()[skipped]->first))
        break; // later ones do not have more value
      BlockCandidate settled = settle(candidate, least, chosen);
      if (settled.groups.empty())
        continue;
      Rank rank = rankOf(settled, chosen);
      auto &entry = best[{settled.size(), settled.groups.size()}];
      if (entry.second.groups.empty() || rank > entry.first)
        entry = {rank, std::move(settled)};
    }
    return best.size() > skipped ? ranked()[skipped]->second : BlockCandidate();
  }

  Rank rankOf(const BlockCandidate &candidate, const std::vector<BlockCandidate> &chosen) const {
    int64_t depth = 0;
    uint32_t start = UINT32_MAX;
    for (const auto &group : candidate.groups) {
      depth += graph.scopes[graph.scopeOf(group)].depth;
      start = std::min(start, *std::min_element(group.begin(), group.end()));
    }
    return {value(candidate, chosen), depth, -border(candidate.groups[0]), -int64_t(start)};
  }

  /// Values that enter or leave a group.
  int64_t border(const std::vector<uint32_t> &group) const {
    std::set<uint32_t> members(group.begin(), group.end());
    std::set<std::pair<int32_t, uint32_t>> values;
    for (uint32_t node : group) {
      for (const BlockGraph::Operand &operand : graph.nodes[node].operands)
        if (operand.producer >= 0 && !members.count(static_cast<uint32_t>(operand.producer)))
          values.insert({operand.producer, operand.result});
      for (uint32_t result = 0; result < graph.nodes[node].uses.size(); ++result)
        for (const BlockGraph::Use &use : graph.nodes[node].uses[result])
          if (!members.count(use.reader))
            values.insert({static_cast<int32_t>(node), result});
    }
    return static_cast<int64_t>(values.size());
  }

  /// The largest saving among the first steps of the growth whose groups can each be computed by one call; no groups if
  /// there is none.
  BlockCandidate settle(const BlockCandidate &candidate, size_t least,
                        const std::vector<BlockCandidate> &chosen) const {
    BlockCandidate best;
    for (size_t size = candidate.size(); size >= least; --size) {
      BlockCandidate shorter;
      for (const auto &group : candidate.groups)
        shorter.groups.emplace_back(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(size));
      if (shorter.saved() <= (best.groups.empty() ? 0 : best.saved()))
        break;
      std::erase_if(shorter.groups, [&](const auto &group) { return !graph.isConvex(group); });
      if (shorter.groups.size() < 2 || shorter.saved() <= 0)
        continue;
      dropCycles(shorter, chosen);
      if (shorter.groups.size() >= 2 && shorter.saved() > (best.groups.empty() ? 0 : best.saved()))
        best = std::move(shorter);
    }
    return best;
  }

  /// Removes groups that are on a cycle of the graph in which every group is a single node.
  void dropCycles(BlockCandidate &candidate, const std::vector<BlockCandidate> &chosen) const {
    size_t count = graph.nodes.size();
    std::vector<uint32_t> whole(count); // of each node
    std::iota(whole.begin(), whole.end(), 0u);
    auto join = [&](const BlockCandidate &block) {
      for (const auto &group : block.groups)
        for (uint32_t node : group)
          whole[node] = group[0];
    };
    join(candidate);
    for (const BlockCandidate &block : chosen)
      join(block);
    std::vector<char> remains(count, 1);
    peel(whole, remains, true);
    peel(whole, remains, false);
    std::erase_if(candidate.groups, [&](const auto &group) { return remains[group[0]] != 0; });
  }

  /// Removes nodes with no remaining node before (or behind) them.
  void peel(const std::vector<uint32_t> &whole, std::vector<char> &remains, bool forwards) const {
    std::vector<std::vector<uint32_t>> next(whole.size());
    std::vector<uint32_t> waits(whole.size(), 0), ready;
    for (uint32_t node = 0; node < whole.size(); ++node)
      for (const BlockGraph::Operand &operand : graph.nodes[node].operands) {
        if (operand.producer < 0)
          continue;
        uint32_t from = whole[static_cast<uint32_t>(operand.producer)], to = whole[node];
        if (from == to || !remains[from] || !remains[to])
          continue;
        next[forwards ? from : to].push_back(forwards ? to : from);
        ++waits[forwards ? to : from];
      }
    for (uint32_t node = 0; node < whole.size(); ++node)
      if (whole[node] == node && remains[node] && waits[node] == 0)
        ready.push_back(node);
    while (!ready.empty()) {
      uint32_t node = ready.back();
      ready.pop_back();
      remains[node] = 0;
      for (uint32_t behind : next[node])
        if (--waits[behind] == 0)
          ready.push_back(behind);
    }
  }
};

/// Sets inputs and weights: operands from outside. Operands that hold the same value in every occurrence share an
/// entry.
void fillInputs(Block &block) {
  std::set<std::vector<const void *>> known;
  for (size_t i = 0; i < block.occurrences[0].operations.size(); ++i)
    for (unsigned slot = 0; slot < block.occurrences[0].operations[i]->getNumOperands(); ++slot) {
      std::vector<const void *> values;
      for (const BlockOccurrence &occurrence : block.occurrences)
        values.push_back(occurrence.operations[i]->getOperand(slot).getAsOpaquePointer());
      mlir::Value value = block.occurrences[0].operations[i]->getOperand(slot);
      const auto &own = block.occurrences[0].operations;
      if (std::find(own.begin(), own.end(), value.getDefiningOp()) != own.end() || !known.insert(values).second)
        continue;
      for (BlockOccurrence &occurrence : block.occurrences) {
        mlir::Value outside = occurrence.operations[i]->getOperand(slot);
        (outside.getDefiningOp<nn::ConstantOp>() ? occurrence.weights : occurrence.inputs).push_back(outside);
      }
    }
}

void fillOutputs(Block &block) {
  auto isRead = [](const BlockOccurrence &occurrence, mlir::Value result) {
    const auto &own = occurrence.operations;
    return llvm::any_of(result.getUsers(),
                        [&](mlir::Operation *user) { return std::find(own.begin(), own.end(), user) == own.end(); });
  };
  for (size_t i = 0; i < block.occurrences[0].operations.size(); ++i)
    for (unsigned result = 0; result < block.occurrences[0].operations[i]->getNumResults(); ++result)
      if (llvm::any_of(block.occurrences, [&](const BlockOccurrence &occurrence) {
            return isRead(occurrence, occurrence.operations[i]->getResult(result));
          }))
        for (BlockOccurrence &occurrence : block.occurrences)
          occurrence.outputs.push_back(occurrence.operations[i]->getResult(result));
}

/// The longest common prefix of the names of `operations`, up to one of `separators`.
std::string commonScope(const std::vector<mlir::Operation *> &operations, const char *separators) {
  std::optional<std::string> scope;
  auto isWhole = [&](const std::string &name, size_t size) {
    return size == name.size() || std::strchr(separators, name[size]) != nullptr;
  };
  for (mlir::Operation *op : operations)
    for (const std::string &name : nn::nodeNames(op->getLoc())) {
      if (!scope)
        scope = name;
      size_t size = static_cast<size_t>(std::mismatch(scope->begin(), scope->end(), name.begin(), name.end()).first -
                                        scope->begin());
      while (size > 0 && !(isWhole(*scope, size) && isWhole(name, size)))
        --size;
      scope->resize(size);
    }
  return scope.value_or("");
}

/// The innermost word of a scope, without its number: "layer" of "layer1.0", "inception" of "inception_3a".
std::string kindOf(const std::string &scope) {
  for (size_t end = scope.size(); end != std::string::npos && end > 0;) {
    size_t before = scope.find_last_of("/._", end - 1);
    std::string part = scope.substr(before == std::string::npos ? 0 : before + 1, end - (before + 1));
    if (!part.empty() && !std::isdigit(static_cast<unsigned char>(part[0]))) {
      while (std::isdigit(static_cast<unsigned char>(part.back())))
        part.pop_back();
      return part;
    }
    end = before;
  }
  return "";
}

std::string nameOf(const Block &block) {
  std::map<std::string, size_t> kinds;
  for (const BlockOccurrence &occurrence : block.occurrences)
    ++kinds[kindOf(occurrence.scope)];
  std::string name;
  for (const auto &[kind, count] : kinds)
    if (2 * count > block.occurrences.size())
      name = kind;
  const auto &operations = block.occurrences[0].operations;
  constexpr size_t mostNamed = 8;
  if (name.empty()) {
    for (size_t i = 0; i < std::min(operations.size(), mostNamed); ++i)
      name += (i ? "_" : "") + operations[i]->getName().stripDialect().str();
    name += operations.size() > mostNamed ? fmt::format("_and_{}_more", operations.size() - mostNamed) : "";
  }
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return std::isdigit(static_cast<unsigned char>(name[0])) ? "_" + name : name;
}

Block blockOf(const BlockGraph &graph, BlockCandidate candidate) {
  auto start = [](const std::vector<uint32_t> &group) { return *std::min_element(group.begin(), group.end()); };
  std::sort(candidate.groups.begin(), candidate.groups.end(),
            [&](const auto &a, const auto &b) { return start(a) < start(b); });
  const std::vector<uint32_t> &first = candidate.groups[0];
  std::vector<size_t> order(first.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return first[a] < first[b]; });
  Block block;
  for (const auto &group : candidate.groups) {
    BlockOccurrence &occurrence = block.occurrences.emplace_back();
    for (size_t i : order)
      occurrence.operations.push_back(graph.nodes[group[i]].op);
    occurrence.scope = commonScope(occurrence.operations, "/.");
    if (occurrence.scope.empty())
      occurrence.scope = commonScope(occurrence.operations, "_");
  }
  fillInputs(block);
  fillOutputs(block);
  block.name = nameOf(block);
  return block;
}

} // namespace

std::vector<Block> findBlocks(mlir::func::FuncOp function) {
  BlockGraph graph(function);
  std::vector<Block> blocks;
  UniqueNames names("_");
  for (BlockCandidate &candidate : BlockSearch(graph).search()) {
    blocks.push_back(blockOf(graph, std::move(candidate)));
    blocks.back().name = names.take(blocks.back().name);
  }
  return blocks;
}

std::vector<BlockDifference> differencesOf(const Block &block) {
  std::vector<BlockDifference> differences;
  for (size_t i = 0; i < block.occurrences[0].operations.size(); ++i) {
    std::set<std::string> names;
    for (const BlockOccurrence &occurrence : block.occurrences) {
      mlir::Operation *first = block.occurrences[0].operations[i], *other = occurrence.operations[i];
      for (mlir::Operation *op : {first, other})
        for (mlir::NamedAttribute attribute : op->getAttrs())
          if (first->getAttr(attribute.getName()) != other->getAttr(attribute.getName()))
            names.insert(attribute.getName().str());
    }
    for (const std::string &name : names)
      differences.push_back({i, name});
  }
  return differences;
}

} // namespace lathe
