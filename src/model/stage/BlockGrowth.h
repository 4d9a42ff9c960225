// Candidates for repeated blocks: equal groups of operations, grown together from operations of one kind.
#pragma once

#include "stage/BlockGraph.h"

#include <queue>

namespace lathe::stage {

/// A candidate for a repeated block: equal groups of nodes. Node i of each group has the same label and the same edges
/// inside the group.
struct BlockCandidate {
  std::vector<std::vector<uint32_t>> groups;

  size_t size() const { return groups[0].size(); }
  /// Number of lines of source that a function for the groups and its calls save, in half lines (see findBlocks).
  int64_t saved() const {
    auto s = static_cast<int64_t>(size()), k = static_cast<int64_t>(groups.size());
    return 2 * s * (k - 1) - 3 * k;
  }
};

class BlockGrowth {
public:
  /// `taken`: true for nodes that may not be in a group. `regions`: a number for each node; all nodes of a group have
  /// the same number.
  BlockGrowth(const BlockGraph &graph, const std::vector<char> &taken, std::vector<uint32_t> regions);

  /// Grows one group from each of `seeds` (nodes of one label in program order), as long as at least two groups have a
  /// neighbour in common. Appends the current groups to `candidates` whenever some groups cannot grow further in the
  /// same way, and at the end, if the groups save lines.
  void grow(const std::vector<uint32_t> &seeds, std::vector<BlockCandidate> &candidates);

private:
  /// A way from a node of a group to a neighbour of the group: to the producer of operand `slot`, or to reader number
  /// `ordinal` of the readers with label `label` that read `result` as operand `slot`.
  struct Edge {
    uint32_t position;
    bool down;
    uint32_t result, slot, label, ordinal;
  };
  struct Step {
    size_t group;
    uint32_t node;
  };
  /// An edge that groups may follow, and the greatest number of groups that can follow it.
  struct Waiting {
    size_t most, edge; // edge: index into `edges`
    bool operator<(const Waiting &other) const { return most != other.most ? most < other.most : edge > other.edge; }
  };

  const BlockGraph &graph;
  const std::vector<char> &taken;
  std::vector<uint32_t> regions;  // region of each node
  std::vector<int32_t> owner;     // group of each node; -1: none
  std::vector<uint32_t> position; // position of each node in its group
  std::vector<std::vector<uint32_t>> groups;
  std::vector<size_t> alive; // indices of the groups that have followed every step
  std::vector<Edge> edges;
  std::vector<size_t> idle; // indices of edges that fewer than two groups can follow
  std::priority_queue<Waiting> waiting;
  size_t visits = 0;

  void addEdges(uint32_t at);
  int32_t neighbour(size_t group, const Edge &edge) const;
  std::vector<uint32_t> connections(size_t group, uint32_t node) const;
  std::vector<Step> follow(const Edge &edge);
  void keep(std::vector<BlockCandidate> &candidates, size_t start) const;
  void drop(const std::vector<Step> &steps);
};

} // namespace lathe::stage
