#include "runtime/plan/Planner.h"

#include "support/Error.h"

#include <algorithm>
#include <numeric>

namespace lathe::runtime {
namespace {

uint64_t aligned(uint64_t bytes) { return (bytes + arenaAlignment - 1) / arenaAlignment * arenaAlignment; }

/// True if the request needs memory at all.
bool isPlaced(const ArenaRequest &request) { return request.bytes > 0 && request.first <= request.last; }

bool overlap(const ArenaRequest &a, const ArenaRequest &b) {
  if (a.streams)
    return !a.streams->isBefore(*b.streams) && !b.streams->isBefore(*a.streams);
  return a.first <= b.last && b.first <= a.last;
}

/// Places the requests in the given order, each into the tightest gap it fits in.
ArenaPlan place(std::span<const ArenaRequest> requests, const std::vector<uint32_t> &order) {
  ArenaPlan plan;
  plan.offsets.assign(requests.size(), 0);
  std::vector<uint32_t> byOffset; // placed so far
  for (uint32_t current : order) {
    uint64_t size = aligned(requests[current].bytes);
    uint64_t best = UINT64_MAX, bestGap = UINT64_MAX, end = 0;
    for (uint32_t other : byOffset) {
      if (!overlap(requests[current], requests[other]))
        continue;
      uint64_t begin = plan.offsets[other];
      if (begin >= end && begin - end >= size && begin - end < bestGap) {
        best = end;
        bestGap = begin - end;
      }
      end = std::max(end, begin + aligned(requests[other].bytes));
    }
    plan.offsets[current] = best != UINT64_MAX ? best : end;
    plan.bytes = std::max(plan.bytes, plan.offsets[current] + size);
    auto at = std::upper_bound(byOffset.begin(), byOffset.end(), current,
                               [&](uint32_t a, uint32_t b) { return plan.offsets[a] < plan.offsets[b]; });
    byOffset.insert(at, current);
  }
  return plan;
}

} // namespace

bool StreamLife::isBefore(const StreamLife &other) const {
  if (lastPhase != other.firstPhase)
    return lastPhase < other.firstPhase;
  for (size_t stream = 0; stream < ends.size(); ++stream)
    if (ends[stream] > other.begins[stream])
      return false;
  return true;
}

uint64_t largestLiveSet(std::span<const ArenaRequest> requests) {
  std::vector<std::pair<uint64_t, int64_t>> changes; // when, bytes
  for (const ArenaRequest &request : requests) {
    if (!isPlaced(request))
      continue;
    auto size = static_cast<int64_t>(aligned(request.bytes));
    changes.emplace_back(request.first, size);
    changes.emplace_back(uint64_t(request.last) + 1, -size);
  }
  std::sort(changes.begin(), changes.end()); // at one moment, ends come before beginnings
  int64_t now = 0, most = 0;
  for (auto &[when, bytes] : changes)
    most = std::max(most, now += bytes);
  return static_cast<uint64_t>(most);
}

ArenaPlan planArena(std::span<const ArenaRequest> requests) {
  std::vector<uint32_t> order;
  uint64_t total = 0;
  for (uint32_t i = 0; i < requests.size(); ++i) {
    if (!isPlaced(requests[i]))
      continue;
    constexpr uint64_t limit = uint64_t(1) << 62;
    require(requests[i].bytes < limit && (total += aligned(requests[i].bytes)) < limit,
            "absurd dimensions: temporaries of more than 2^62 bytes");
    order.push_back(i);
  }
  uint64_t liveBytes = largestLiveSet(requests);

  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return std::pair(requests[b].bytes, a) < std::pair(requests[a].bytes, b); });
  ArenaPlan best = place(requests, order);
  if (best.bytes > liveBytes) {
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(requests[a].first, a) < std::pair(requests[b].first, b);
    });
    ArenaPlan other = place(requests, order);
    if (other.bytes < best.bytes)
      best = std::move(other);
  }
  best.liveBytes = liveBytes;
  return best;
}

} // namespace lathe::runtime
