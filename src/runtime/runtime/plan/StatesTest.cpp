#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>

namespace lathe::runtime {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StatesTest : public WithTestReferences {};

/// state' = state / 2 + x
TestPlan decaying() {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), state = p.input("state", {"N"}), half = p.temporary("half", {"N"});
  uint32_t next = p.output("next", {"N"});
  p.plan().outputs = {next};
  p.half(state, half, "N");
  p.add(half, x, next, "N");
  return p;
}

TEST_F(StatesTest, outputsBecomeInputsWithoutCopies) {
  Context context(decaying().model());
  Tensor x = ramp(3, 1); // 1, 2, 3
  context.setInput(0, x);
  context.keepState(1, 0);
  const void *places[4];
  for (const void *&place : places) {
    context.run();
    place = context.output(0).tensor().data();
  }
  EXPECT_THAT(floats(context.output(0)), ElementsAre(1.875f, 3.75f, 5.625f));
  EXPECT_NE(places[0], places[1]); // an input never shares memory with an output of the same run
  EXPECT_EQ(places[0], places[2]); // two buffers in turns
  EXPECT_EQ(places[1], places[3]);
}

TEST_F(StatesTest, beginAgainAfterAResetAndFromGivenValues) {
  Context context(decaying().model());
  context.setInput(0, ramp(2, 1));
  context.keepState(1, 0);
  Tensor start = ramp(2, 8); // 8, 9
  context.setInput(1, start);
  auto run = [&] {
    context.run();
    return floats(context.output(0));
  };
  EXPECT_THAT(run(), ElementsAre(5, 6.5f));
  EXPECT_THAT(run(), ElementsAre(3.5f, 5.25f));
  EXPECT_THAT(floats(context.nextInput(1)), ElementsAre(3.5f, 5.25f));
  context.resetStates();
  EXPECT_THAT(run(), ElementsAre(5, 6.5f));
  context.setInput(1, ramp(2, 0)); // 0, 1
  EXPECT_THAT(run(), ElementsAre(1, 2.5f));
  EXPECT_THAT(floats(start), ElementsAre(8, 9)) << "the caller's memory was written";
}

TEST_F(StatesTest, refusesWhatIsNoState) {
  Context context(decaying().model());
  EXPECT_THAT(errorOf([&] { context.keepState(1, 0, 16); }), HasSubstr("does not let it grow in place"));
  EXPECT_THAT(errorOf([&] { context.keepState(7, 0); }), HasSubstr("input 7 of 2"));
  context.keepState(1, 0);
  EXPECT_THAT(errorOf([&] { context.keepState(0, 0); }), HasSubstr("the output is a state already"));
  EXPECT_THAT(errorOf([&] { context.keepState(1, 0); }), HasSubstr("the input is a state already"));
  EXPECT_THAT(errorOf([&] { context.setOutput(0, ramp(2)); }), HasSubstr("kept as a state"));
  EXPECT_THAT(errorOf([&] { context.run(); }), HasSubstr("no other input tells its extent 'N'"));
}

// ---- States that grow in place ----

std::atomic<int64_t> bytesMoved = 0;

/// Concatenates past (2 x P x 3) and new (2 x 1 x 3) to present, whose rows have room for `capacity` positions. Work
/// items: the two rows of the past, then the rows of the new elements. dims: capacity * 1000 + P.
void append(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *) {
  int64_t capacity = dims[0] / 1000, past = dims[0] % 1000;
  auto *from = static_cast<const float *>(buffers[0]), *added = static_cast<const float *>(buffers[1]);
  auto *to = static_cast<float *>(buffers[2]);
  for (int64_t item = begin; item < end; ++item) {
    int64_t row = item % 2, count = item < 2 ? past * 3 : 3, at = row * capacity * 3 + (item < 2 ? 0 : past * 3);
    const float *source = item < 2 ? from + row * past * 3 : added + row * 3;
    std::memcpy(to + at, source, static_cast<size_t>(count) * sizeof(float));
    bytesMoved += count * int64_t(sizeof(float));
  }
}

/// The sum of every row of present (2 x P+1 x 3).
void rowSums(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *) {
  int64_t capacity = dims[0] / 1000, past = dims[0] % 1000;
  for (int64_t row = begin; row < end; ++row) {
    float sum = 0;
    for (int64_t i = 0; i < (past + 1) * 3; ++i)
      sum += static_cast<const float *>(buffers[0])[row * capacity * 3 + i];
    static_cast<float *>(buffers[1])[row] = sum;
  }
}

TestPlan growing() {
  TestPlan p;
  uint32_t past = p.input("past", {"2", "P", "3"}), added = p.input("new", {"2", "1", "3"});
  uint32_t present = p.output("present", {"2", "P + 1", "3"}), sums = p.output("sums", {"2"});
  p.plan().outputs = {present, sums};
  p.plan().values[present]->bytes = "P.capacity*24";
  p.relay(append, {past, added, present}, "P.capacity*1000 + P", "4");
  p.plan().blocks[0]->instructions.back()->operation.AsCallKernel()->first_unit = "P.kept*2";
  p.relay(rowSums, {present, sums}, "P.capacity*1000 + P", "2");
  auto growth = std::make_unique<plan::GrowthT>();
  growth->axis = 1;
  growth->capacity = "P.capacity";
  growth->kept = "P.kept";
  p.plan().growths.push_back(std::move(growth));
  return p;
}

Tensor block(int64_t positions, float first) {
  Tensor tensor = ramp(2 * positions * 3, first);
  return tensor.reshaped({2, positions, 3});
}

TEST_F(StatesTest, plainRunsCopyThePast) {
  Context context(growing().model());
  context.setInput(0, block(2, 0));
  context.setInput(1, block(1, 100));
  bytesMoved = 0;
  context.run();
  EXPECT_THAT(floats(context.output(0)),
              ElementsAre(0, 1, 2, 3, 4, 5, 100, 101, 102, 6, 7, 8, 9, 10, 11, 103, 104, 105));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(318, 363));
  EXPECT_EQ(bytesMoved, 18 * 4);
}

TEST_F(StatesTest, growingStatesMoveNewElementsAlone) {
  for (int threads : {1, 2}) {
    Context context(growing().model(), {.threads = threads});
    context.keepState(0, 0, 100);
    std::vector<float> sums(2);
    for (int step = 0; step < 100; ++step) {
      Tensor added = block(1, static_cast<float>(step));
      context.setInput(1, added);
      bytesMoved = 0;
      context.run();
      EXPECT_EQ(bytesMoved, 2 * 3 * 4) << "step " << step;
      for (int i = 0; i < 6; ++i)
        sums[i / 3] += static_cast<float>(step + i);
      ASSERT_EQ(floats(context.output(1)), sums) << "step " << step;
    }
    const Tensor &present = context.output(0).tensor(); // a dense copy
    EXPECT_THAT(present.dims(), ElementsAre(2, 100, 3));
    EXPECT_EQ(present.as<float>()[100 * 3 + 7 * 3], 10);
    EXPECT_EQ(context.memory().stateBytes, 2u * 100 * 3 * 4);
    context.setInput(1, block(1, 0));
    EXPECT_THAT(errorOf([&] { context.run(); }),
                HasSubstr("state 'past' has 101 positions after this run, expected at most its maximum of 100"));
    EXPECT_THAT(errorOf([&] { context.run(); }), HasSubstr("101 positions")) << "the state changed";
    context.resetStates();
    context.run();
    EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 1, 2, 3, 4, 5));
  }
}

TEST_F(StatesTest, growingStatesBeginWithAGivenPast) {
  Context context(growing().model());
  context.keepState(0, 0, 8);
  context.setInput(0, block(2, 0));
  context.setInput(1, block(1, 100));
  bytesMoved = 0;
  context.run();
  EXPECT_EQ(bytesMoved, 18 * 4) << "the given past is copied once";
  context.setInput(1, block(1, 200));
  bytesMoved = 0;
  context.run();
  EXPECT_EQ(bytesMoved, 6 * 4);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 1, 2, 3, 4, 5, 100, 101, 102, 200, 201, 202, 6, 7, 8, 9, 10, 11,
                                                     103, 104, 105, 203, 204, 205));
}

TEST_F(StatesTest, growthWithoutAMaximumChangesPlaces) {
  Context context(growing().model());
  context.keepState(0, 0);
  for (int step = 0; step < 3; ++step) {
    context.setInput(1, block(1, static_cast<float>(10 * step)));
    context.run();
  }
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 1, 2, 10, 11, 12, 20, 21, 22, 3, 4, 5, 13, 14, 15, 23, 24, 25));
}

/// cache' = cache with x at position i; copies the rest unless both are one
void put(void *const *buffers, const int64_t *dims, int64_t, int64_t, void *) {
  auto *next = static_cast<float *>(buffers[3]);
  if (buffers[0] != next)
    std::memcpy(next, buffers[0], static_cast<size_t>(dims[0]) * 4), bytesMoved += dims[0] * 4;
  next[*static_cast<const int64_t *>(buffers[2])] = *static_cast<const float *>(buffers[1]);
}

TestPlan writingOver() {
  TestPlan p;
  uint32_t cache = p.input("cache", {"N"}), x = p.input("x", {"1"}), i = p.input("i", {"1"}, ElementType::i64);
  uint32_t next = p.output("next", {"N"});
  p.plan().outputs = {next};
  p.relay(put, {cache, x, i, next}, "N", "1");
  p.plan().growths.push_back(std::make_unique<plan::GrowthT>());
  return p;
}

TEST_F(StatesTest, whatIsWrittenOverStaysInItsMemory) {
  Context context(writingOver().model());
  context.keepState(0, 0);
  Tensor start = ramp(3, 5); // 5, 6, 7
  context.setInput(0, start);
  bytesMoved = 0;
  std::vector<const void *> places;
  for (int64_t step = 0; step < 3; ++step) {
    context.setInput(1, ramp(1, static_cast<float>(step)));
    context.setInput(2, Tensor::of<int64_t>({1}, {2 - step}));
    context.run();
    places.push_back(context.output(0).tensor().data());
  }
  EXPECT_THAT(floats(context.output(0)), ElementsAre(2, 1, 0));
  EXPECT_EQ(bytesMoved, 3 * 4) << "the given value is copied once";
  EXPECT_EQ(places[0], places[2]);
  EXPECT_EQ(places[0], places[1]);
  EXPECT_THAT(floats(start), ElementsAre(5, 6, 7)) << "the caller's memory was written";
  Value before = context.nextInput(0);
  context.run();
  EXPECT_THAT(floats(before), ElementsAre(2, 1, 0));
  context.resetStates();
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(2, 6, 7));
  EXPECT_THAT(errorOf([&] { Context(writingOver().model()).keepState(0, 0, 9); }), HasSubstr("does not let it grow"));
}

TEST_F(StatesTest, refusesMalformedGrowths) {
  TestPlan p = growing();
  p.plan().growths[0]->axis = 3;
  EXPECT_THAT(errorOf([&] { p.model(); }),
              HasSubstr("malformed plan: output 'present' grows from 'past' along axis 3"));
  p.plan().growths[0]->axis = 1;
  p.plan().growths[0]->output = 5;
  EXPECT_THAT(errorOf([&] { p.model(); }), HasSubstr("malformed plan: output 5 of 2 grows from input 0 of 2"));
  TestPlan q = writingOver();
  q.plan().values[q.plan().inputs[0]]->dims = {"M"};
  EXPECT_THAT(errorOf([&] { q.model(); }), HasSubstr("malformed plan: output 'next' grows from 'cache' along axis 0"));
}

} // namespace
} // namespace lathe::runtime
