// Minimum cut of a small graph with non-negative capacities (Dinic's algorithm).
#pragma once

#include <cstdint>
#include <vector>

namespace lathe {

class MinCut {
public:
  static constexpr int source = 0, sink = 1;
  static constexpr int64_t infinite = int64_t(1) << 50;

  int addNode();
  /// `capacity` is paid when `from` ends up on the source's side and `to` on the sink's.
  void addEdge(int from, int to, int64_t capacity);
  /// By node: true on the source's side. Of several minimal cuts the one with the fewest nodes there.
  std::vector<bool> solve();

private:
  struct Edge {
    int to;
    int64_t left;
  };
  std::vector<Edge> edges; // an edge and its reverse are neighbours
  std::vector<std::vector<int>> out{2};
  std::vector<int> level;
  std::vector<size_t> next;

  bool findLevels();
  int64_t push(int node, int64_t most);
};

} // namespace lathe
