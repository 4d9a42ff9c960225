// Finds a minimum cut of a small graph with non-negative capacities (Dinic's algorithm).
#pragma once

#include <cstdint>
#include <vector>

namespace lathe {

class MinCut {
public:
  static constexpr int source = 0, sink = 1;
  static constexpr int64_t infinite = int64_t(1) << 50;

  int addNode();
  /// Adds an edge to the graph. A cut pays the edge's capacity if `from` is on the source side and `to` on the sink
  /// side.
  void addEdge(int from, int to, int64_t capacity);
  /// Returns for each node whether the minimum cut puts it on the source side. Of several minimal cuts, chooses the
  /// one with the smallest source side.
  std::vector<bool> solve();

private:
  struct Edge {
    int to;
    int64_t left;
  };
  std::vector<Edge> edges; // edge 2 * i + 1 is the reverse of edge 2 * i
  std::vector<std::vector<int>> out{2};
  std::vector<int> level;
  std::vector<size_t> next;

  bool findLevels();
  int64_t push(int node, int64_t most);
};

} // namespace lathe
