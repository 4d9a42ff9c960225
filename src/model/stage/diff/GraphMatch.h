// Finds the nodes of two graphs that correspond to each other.
#pragma once

#include "stage/diff/GraphNodes.h"

#include <queue>
#include <set>

namespace lathe::stage {

/// Pairs the nodes, inputs and outputs of two graphs. Partners have the same operator.
///
/// Pairs spread from neighbour to neighbour, the pair with the most evidence first (percolation graph matching,
/// Yartseva and Grossglauser 2013, doi:10.1145/2512938.2512952). They start at constants with equal content that only
/// one node on each side reads, and at the inputs and outputs. When pairs cannot spread further, one or two operators
/// may be skipped on either side, so that an added or removed operator leaves its surroundings paired. At the end,
/// different operators become partners if they are in the same place.
class GraphMatch {
public:
  static constexpr size_t nobody = SIZE_MAX;

  GraphMatch(const GraphNodes &a, const GraphNodes &b);

  /// For each node of A (of B), the index of its partner in the other graph, or `nobody`.
  const std::vector<size_t> &partnersOfA() const { return toB; }
  const std::vector<size_t> &partnersOfB() const { return toA; }
  const std::vector<size_t> &inputPartners() const { return inputsToB; }
  const std::vector<size_t> &outputPartners() const { return outputsToB; }

  /// True if two operands with these sources are known to have the same value; constants have it if their contents are
  /// equal.
  bool same(const Source &a, const Source &b) const;
  /// The operand of `y` that corresponds to operand `slot` of its partner `x`. Its index differs from `slot` only if
  /// the operands of both nodes commute.
  size_t slotOf(size_t x, size_t y, size_t slot) const;

private:
  struct Pair {
    int64_t score;
    size_t order; // number of pairs that were discovered before this one
    size_t x, y;
    bool operator<(const Pair &other) const { return score != other.score ? score < other.score : order > other.order; }
  };
  struct Side;

  const GraphNodes &a, &b;
  std::vector<size_t> toB, toA, inputsToB, outputsToB;
  std::priority_queue<Pair> waiting;
  std::set<std::pair<size_t, size_t>> offered;
  size_t discovered = 0;

  void pairPorts(const std::vector<GraphPort> &own, const std::vector<GraphPort> &others,
                 std::vector<size_t> &partners);
  void offer(size_t x, size_t y);
  int64_t score(size_t x, size_t y) const;
  bool sameContent(size_t x, size_t y) const;
  void offerContents();
  void offerPorts();
  void offerNeighbours(size_t x, size_t y);
  void spread();
  bool skip();
  void pairReplaced();
};

} // namespace lathe::stage
