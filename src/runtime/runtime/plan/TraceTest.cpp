#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;

namespace {

using TraceTest = WithTestReferences;
using Kind = TracedCall::Kind;

std::vector<TracedCall> callsOf(const RunTrace &trace, Kind kind, uint32_t instruction) {
  std::vector<TracedCall> found;
  for (const TracedCall &call : trace.calls.events)
    if (call.kind == kind && call.instruction == instruction)
      found.push_back(call);
  return found;
}

/// Calls nest: two of them either lie inside of each other or do not meet. The shares of a slot do not meet, and each lies
/// within a call of its instruction, or within images that pass it.
void expectNested(const RunTrace &trace, const RunProfile &profile) {
  for (const TracedCall &a : trace.calls.events) {
    EXPECT_LE(profile.begin, a.begin);
    EXPECT_LE(a.begin, a.end);
    EXPECT_LE(a.end, profile.end);
    for (const TracedCall &b : trace.calls.events) {
      bool apart = a.end <= b.begin || b.end <= a.begin;
      EXPECT_TRUE(apart || (a.begin <= b.begin && b.end <= a.end) || (b.begin <= a.begin && a.end <= b.end));
    }
  }
  for (const TraceTrack<SlotTime> &track : trace.shares)
    for (size_t i = 0; i < track.events.size(); ++i) {
      const std::vector<SlotTime> &slot = track.events;
      EXPECT_LE(slot[i].begin, slot[i].end);
      if (i > 0) {
        EXPECT_LE(slot[i - 1].end, slot[i].begin);
      }
      EXPECT_TRUE(std::any_of(trace.calls.events.begin(), trace.calls.events.end(),
                              [&](const TracedCall &call) {
                                bool covers =
                                    call.kind == Kind::images
                                        ? call.instruction <= slot[i].instruction && slot[i].instruction <= call.detail
                                        : call.kind == Kind::instruction && call.instruction == slot[i].instruction;
                                return covers && call.begin <= slot[i].begin && slot[i].end <= call.end;
                              }))
          << "instruction " << slot[i].instruction;
    }
}

TEST_F(TraceTest, everySlotHasItsShareOfEveryCall) {
  TestPlan p;
  uint32_t x = p.input("x", {"N", "37"}), sums = p.temporary("sums", {"N"}), out = p.output("out", {"N"});
  p.rowsum(x, sums, "N", "37");
  p.reference("negate", {int32_t(sums)}, {out});
  for (int threads : {1, 2, 3}) {
    Context context(p.model(), {.threads = threads});
    Tensor data = ramp(101 * 37);
    context.setInput(0, Tensor::borrow(ElementType::f32, {101, 37}, data.data()));
    context.run();
    EXPECT_TRUE(context.trace().calls.events.empty() && context.trace().shares.empty());
    for (int run = 0; run < 3; ++run) {
      context.run({.profile = true, .trace = true});
      const RunTrace &trace = context.trace();
      ASSERT_EQ(trace.shares.size(), size_t(threads));
      for (const TraceTrack<SlotTime> &slot : trace.shares)
        EXPECT_EQ(std::count_if(slot.events.begin(), slot.events.end(),
                                [](const SlotTime &time) { return time.instruction == 0; }),
                  1);
      ASSERT_EQ(trace.calls.events.size(), 2u);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(trace.calls.events[i].instruction, i);
        EXPECT_EQ(trace.calls.events[i].end - trace.calls.events[i].begin,
                  context.profile().times[i].end - context.profile().times[i].begin);
      }
      expectNested(trace, context.profile());
    }
    context.run({.profile = true});
    EXPECT_TRUE(context.trace().calls.events.empty() && context.trace().shares.empty());
  }
}

TEST_F(TraceTest, iterationsAreInsideTheirLoop) {
  TestPlan p;
  uint32_t trips = p.input("trips", {}, ElementType::i64), limit = p.input("limit", {}, ElementType::i64);
  uint32_t x = p.input("x", {"2"});
  uint32_t iteration = p.temporary("i", {}, ElementType::i64), go = p.temporary("go", {}, ElementType::boolean);
  uint32_t carried = p.temporary("carried", {"2"}), twice = p.temporary("twice", {"2"});
  uint32_t next = p.temporary("next", {}, ElementType::i64), more = p.temporary("more", {}, ElementType::boolean);
  plan::LoopT loop;
  loop.trip_count = int32_t(trips);
  loop.body = 1;
  loop.body_inputs = {iteration, go, carried};
  loop.body_outputs = {more, twice};
  loop.initial = {x};
  loop.results = {p.output("last", {"2"})};
  p.instruction(loop);
  p.add(carried, carried, twice, "2", 1);
  p.reference("increment", {int32_t(iteration)}, {next}, 1);
  p.reference("less", {int32_t(next), int32_t(limit)}, {more}, 1);
  Context context(p.model(), {.threads = 2});
  context.setInput(0, Tensor::of<int64_t>({}, {5}));
  context.setInput(1, Tensor::of<int64_t>({}, {100}));
  context.setInput(2, Tensor::of<float>({2}, {1, 3}));
  context.run({.profile = true, .trace = true});
  EXPECT_THAT(floats(context.output(0)), ::testing::ElementsAre(32, 96));
  const RunTrace &trace = context.trace();
  EXPECT_EQ(callsOf(trace, Kind::instruction, 0).size(), 1u);
  EXPECT_EQ(callsOf(trace, Kind::body, 0).size(), 5u);
  std::vector<TracedCall> adds = callsOf(trace, Kind::instruction, 1);
  ASSERT_EQ(adds.size(), 5u);
  uint64_t sum = 0;
  for (const TracedCall &call : adds)
    sum += call.end - call.begin;
  for (const InstructionTime &time : context.profile().times)
    if (time.instruction == 1) {
      EXPECT_EQ(time.end - time.begin, sum);
    }
  expectNested(trace, context.profile());
  EXPECT_THAT(context.instruction(0).inputs, ::testing::ElementsAre(trips, x));
  EXPECT_THAT(context.instruction(1).inputs, ::testing::ElementsAre(carried, carried));
  EXPECT_THAT(context.instruction(1).outputs, ::testing::ElementsAre(twice));
}

TEST_F(TraceTest, imagesHaveTheTimesOfEveryImage) {
  TestPlan p;
  const std::vector<std::string> image = {"N", "40960"};
  uint32_t x = p.input("x", image), half = p.temporary("half", image), out = p.output("out", image);
  p.half(x, half, "N*40960");
  p.half(half, out, "N*40960");
  for (auto &instruction : p.plan().blocks[0]->instructions)
    instruction->operation.AsCallKernel()->images = "N";
  p.imageCosts({{600000, 0.02}, {0, 0.1}}, 100);
  constexpr int64_t images = 9;
  Context context(p.model(), {.threads = 2});
  Tensor data = ramp(images * 40960);
  context.setInput(0, Tensor::borrow(ElementType::f32, {images, 40960}, data.data()));
  context.run({.profile = true, .trace = true});
  const RunTrace &trace = context.trace();
  ASSERT_EQ(callsOf(trace, Kind::images, 0).size(), 1u);
  EXPECT_EQ(callsOf(trace, Kind::images, 0)[0].detail, 1u);
  EXPECT_EQ(callsOf(trace, Kind::instruction, 0).size(), 1u);
  // Four images for each slot, and both together the ninth: two kernels each.
  for (const TraceTrack<SlotTime> &slot : trace.shares)
    EXPECT_EQ(slot.events.size(), 2u * 5u);
  expectNested(trace, context.profile());
  EXPECT_THAT(context.place(half).dims, ::testing::ElementsAre(images, 40960));
  EXPECT_EQ(context.place(half).bytes, images * 40960 * 4);
}

/// A million iterations: events beyond the limit are counted, the instructions after the loop still have room, and no
/// memory is allocated while the run is timed.
TEST_F(TraceTest, tracksHaveALimit) {
  constexpr int64_t trips = 1000000;
  Context context(counting().model(), {.threads = 1});
  context.setInput(0, Tensor::of<int64_t>({}, {trips}));
  context.setInput(1, Tensor::of<float>({2}, {0, 1}));
  for (size_t limit : {RunOptions().traceLimit, size_t(1000)}) {
    context.run({.profile = true, .trace = true, .traceLimit = limit});
    EXPECT_THAT(floats(context.output(0)), ::testing::ElementsAre(trips / 2, trips / 2 + 0.5f));
    const RunTrace &trace = context.trace();
    const std::vector<TracedCall> &calls = trace.calls.events;
    // Calls of the loop: itself, its bodies and their kernel; then the kernel after the loop.
    EXPECT_EQ(calls.size(), limit + 2);
    EXPECT_EQ(calls.size() + trace.calls.leftOut, uint64_t(2 * trips + 2));
    EXPECT_EQ(trace.shares[0].events.size(), limit + 1);
    EXPECT_EQ(trace.shares[0].events.size() + trace.shares[0].leftOut, uint64_t(trips + 1));
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(calls[i].kind, i % 2 ? Kind::body : Kind::instruction);
      EXPECT_EQ(calls[i].iteration, i % 2 ? i / 2 : 0);
    }
    // Sums are over all executions.
    std::map<uint32_t, uint64_t> spent;
    for (const InstructionTime &time : context.profile().times)
      spent[time.instruction] = time.end - time.begin;
    for (uint32_t outermost : {0, 2}) {
      std::vector<TracedCall> found = callsOf(trace, Kind::instruction, outermost);
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0].end - found[0].begin, spent[outermost]);
    }
    uint64_t kept = 0;
    for (const TracedCall &call : callsOf(trace, Kind::instruction, 1))
      kept += call.end - call.begin;
    EXPECT_GT(spent[1], kept);
    EXPECT_LT(spent[1], spent[0]);
    const TracedCall *memory = calls.data();
    size_t room = calls.capacity();
    EXPECT_GE(room, limit + 2);
    context.run({.profile = true, .trace = true, .traceLimit = limit});
    EXPECT_EQ(trace.calls.events.data(), memory);
    EXPECT_EQ(trace.calls.events.capacity(), room);
  }
}

} // namespace
