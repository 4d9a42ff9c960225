#include "passes/kernels/MinCut.h"

#include <algorithm>
#include <queue>

namespace lathe {

int MinCut::addNode() {
  out.emplace_back();
  return static_cast<int>(out.size() - 1);
}

void MinCut::addEdge(int from, int to, int64_t capacity) {
  if (from == to || capacity <= 0)
    return;
  out[from].push_back(static_cast<int>(edges.size()));
  edges.push_back({to, capacity});
  out[to].push_back(static_cast<int>(edges.size()));
  edges.push_back({from, 0});
}

bool MinCut::findLevels() {
  level.assign(out.size(), -1);
  level[source] = 0;
  std::queue<int> queue({source});
  while (!queue.empty()) {
    int node = queue.front();
    queue.pop();
    for (int e : out[node])
      if (edges[e].left > 0 && level[edges[e].to] < 0) {
        level[edges[e].to] = level[node] + 1;
        queue.push(edges[e].to);
      }
  }
  return level[sink] >= 0;
}

int64_t MinCut::push(int node, int64_t most) {
  if (node == sink)
    return most;
  for (size_t &i = next[node]; i < out[node].size(); ++i) {
    int e = out[node][i];
    if (edges[e].left <= 0 || level[edges[e].to] != level[node] + 1)
      continue;
    if (int64_t sent = push(edges[e].to, std::min(most, edges[e].left)); sent > 0) {
      edges[e].left -= sent;
      edges[e ^ 1].left += sent;
      return sent;
    }
  }
  return 0;
}

std::vector<bool> MinCut::solve() {
  while (findLevels()) {
    next.assign(out.size(), 0);
    while (push(source, infinite) > 0)
      ;
  }
  // The nodes that the source still reaches (findLevels has just found them) are the smallest source side.
  std::vector<bool> side(out.size());
  for (size_t i = 0; i < out.size(); ++i)
    side[i] = level[i] >= 0;
  return side;
}

} // namespace lathe
