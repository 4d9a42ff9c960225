#include "jobs/profile/SlotUse.h"

#include <gtest/gtest.h>

using namespace lathe;
using namespace lathe::jobs;
using runtime::TracedCall;

namespace {

/// A call of instruction `number` on `slots` slots from `first` on.
TracedCall call(uint32_t number, uint64_t begin, uint64_t end, uint32_t first, uint32_t slots,
                TracedCall::Kind kind = TracedCall::Kind::instruction) {
  return {kind, number, 0, 0, begin, end, first, slots};
}

void expectUse(const SlotUse &use, double busy, double waiting, double idle) {
  EXPECT_NEAR(use.busy, busy * 1e-9, 1e-12);
  EXPECT_NEAR(use.waiting, waiting * 1e-9, 1e-12);
  EXPECT_NEAR(use.idle, idle * 1e-9, 1e-12);
}

runtime::RunProfile from(uint64_t begin, uint64_t end) {
  runtime::RunProfile profile;
  profile.begin = begin;
  profile.end = end;
  return profile;
}

} // namespace

TEST(SlotUse, teamsBesideEachOther) {
  runtime::RunTrace trace;
  trace.shares.resize(3);
  trace.calls.events = {call(0, 110, 150, 0, 1), call(1, 110, 190, 1, 2), call(2, 192, 200, 0, 3)};
  trace.shares[0].events = {{0, 111, 150}, {2, 192, 196}};
  trace.shares[1].events = {{1, 110, 190}, {2, 193, 200}};
  trace.shares[2].events = {{1, 120, 160}};
  std::vector<SlotUse> uses = slotUse(trace, from(100, 200));
  ASSERT_EQ(uses.size(), 3u);
  expectUse(uses[0], 39 + 4, 1 + 4, 10 + 42);
  expectUse(uses[1], 80 + 7, 1, 10 + 2);
  expectUse(uses[2], 40, 40 + 8, 10 + 2);
  for (const SlotUse &use : uses)
    EXPECT_NEAR(use.busy + use.waiting + use.idle, 100e-9, 1e-12);
}

TEST(SlotUse, whatIsNotDividedIsWorkOfTheFirstSlot) {
  runtime::RunTrace trace;
  trace.shares.resize(2);
  // A loop (0), of which one turn has a computed shape (1) and a kernel (2).
  trace.calls.events = {call(1, 10, 20, 0, 2), call(2, 20, 40, 0, 2), call(0, 5, 45, 0, 2, TracedCall::Kind::body),
                        call(0, 0, 50, 0, 2)};
  trace.shares[0].events = {{2, 20, 40}};
  trace.shares[1].events = {{2, 22, 32}};
  std::vector<SlotUse> uses = slotUse(trace, from(0, 60));
  expectUse(uses.at(0), 30, 20, 10);
  expectUse(uses.at(1), 10, 40, 10);
}

TEST(SlotUse, nothingIsSaidOfATraceThatLeftEventsOut) {
  runtime::RunTrace trace;
  trace.shares.resize(2);
  EXPECT_EQ(slotUse(trace, from(0, 10)).size(), 2u);
  trace.shares[1].leftOut = 1;
  EXPECT_TRUE(slotUse(trace, from(0, 10)).empty());
}
