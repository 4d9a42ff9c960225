#include "jobs/profile/SlotUse.h"

#include <algorithm>
#include <utility>

namespace lathe::jobs {
namespace {

using Interval = std::pair<uint64_t, uint64_t>; // [begin, end) in nanoseconds

/// The same points of time as intervals in rising order that do not meet.
std::vector<Interval> merged(std::vector<Interval> list) {
  std::sort(list.begin(), list.end());
  std::vector<Interval> result;
  for (const auto &[begin, end] : list)
    if (!result.empty() && begin <= result.back().second)
      result.back().second = std::max(result.back().second, end);
    else
      result.emplace_back(begin, end);
  return result;
}

double secondsOf(const std::vector<Interval> &disjoint) {
  uint64_t sum = 0;
  for (const auto &[begin, end] : disjoint)
    sum += end - begin;
  return double(sum) * 1e-9;
}

/// True if one of these intervals, which are in rising order and do not meet, has a point in common with [begin, end).
bool touches(const std::vector<Interval> &disjoint, uint64_t begin, uint64_t end) {
  auto after =
      std::partition_point(disjoint.begin(), disjoint.end(), [&](const Interval &at) { return at.second <= begin; });
  return after != disjoint.end() && after->first < end;
}

} // namespace

std::vector<SlotUse> slotUse(const runtime::RunTrace &trace, const runtime::RunProfile &profile) {
  const size_t slots = trace.shares.size();
  std::vector<std::vector<Interval>> shares(slots), inCalls(slots);
  if (trace.calls.leftOut)
    return {};
  for (size_t slot = 0; slot < slots; ++slot) {
    if (trace.shares[slot].leftOut)
      return {};
    for (const runtime::SlotTime &share : trace.shares[slot].events)
      shares[slot].emplace_back(share.begin, share.end);
    shares[slot] = merged(std::move(shares[slot]));
  }
  std::vector<std::vector<Interval>> busy = shares;
  for (const runtime::TracedCall &call : trace.calls.events) {
    const size_t first = call.firstSlot, end = std::min(slots, first + call.slots);
    bool divided = false;
    for (size_t slot = first; slot < end; ++slot) {
      inCalls[slot].emplace_back(call.begin, call.end);
      divided = divided || touches(shares[slot], call.begin, call.end);
    }
    if (!divided && first < end)
      busy[first].emplace_back(call.begin, call.end);
  }
  const double whole = double(profile.end - profile.begin) * 1e-9;
  std::vector<SlotUse> uses(slots);
  for (size_t slot = 0; slot < slots; ++slot) {
    uses[slot].busy = secondsOf(merged(busy[slot]));
    inCalls[slot].insert(inCalls[slot].end(), busy[slot].begin(), busy[slot].end());
    const double inWork = secondsOf(merged(inCalls[slot]));
    uses[slot].waiting = inWork - uses[slot].busy;
    uses[slot].idle = std::max(0.0, whole - inWork);
  }
  return uses;
}

} // namespace lathe::jobs
