#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <limits>
#include <thread>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;
using ::testing::ElementsAre;

namespace {

using CancelTest = WithTestReferences;

void setInputs(Context &context, int64_t trips) {
  context.setInput(0, Tensor::of<int64_t>({}, {trips}));
  context.setInput(1, Tensor::of<float>({2}, {0, 1}));
}

void expectCancelled(Context &context) {
  try {
    context.run();
    FAIL() << "the run was not cancelled";
  } catch (const Cancelled &error) {
    EXPECT_STREQ(error.what(), "test.lathe: the run was cancelled");
  }
}

constexpr int64_t endless = std::numeric_limits<int64_t>::max();

TEST_F(CancelTest, anotherThreadEndsALongLoop) {
  for (int threads : {1, 2}) {
    Context context(counting().model(), {.threads = threads});
    for (int64_t trips : {5, 6, 7}) { // carried values change places an odd and an even number of times
      setInputs(context, endless);
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        context.cancel();
      });
      expectCancelled(context);
      other.join();
      setInputs(context, trips);
      context.run();
      EXPECT_THAT(floats(context.output(0)), ElementsAre(float(trips) / 2, float(trips + 1) / 2));
    }
  }
}

Context *signalled = nullptr;

TEST_F(CancelTest, aSignalHandlerEndsARun) {
  Context context(counting().model());
  setInputs(context, endless);
  signalled = &context;
  auto before = std::signal(SIGUSR1, [](int) { signalled->cancel(); });
  pthread_t caller = pthread_self();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pthread_kill(caller, SIGUSR1);
  });
  expectCancelled(context);
  other.join();
  std::signal(SIGUSR1, before);
}

TEST_F(CancelTest, aRequestWaitsForTheNextRun) {
  Context context(counting().model());
  setInputs(context, 4);
  context.cancel();
  context.cancel();
  expectCancelled(context);
  EXPECT_THROW(context.output(0), Error);
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(2, 2.5f));
  context.cancel();
  context.resetCancel();
  context.run();
}

/// A loop whose body computes nothing ends, too.
TEST_F(CancelTest, anEmptyBodyEnds) {
  TestPlan p = counting();
  p.plan().blocks[1]->instructions.clear();
  plan::LoopT &loop = *p.plan().blocks[0]->instructions[0]->operation.AsLoop();
  loop.body_outputs[1] = loop.body_inputs[2];
  Context context(p.model());
  setInputs(context, endless);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    context.cancel();
  });
  expectCancelled(context);
  other.join();
}

struct Check {
  int answer = 0;
  int asked = 0;
  static int ask(void *data) {
    auto *check = static_cast<Check *>(data);
    ++check->asked;
    // Code of the program itself keeps denormal numbers.
    volatile float small = 1e-40f, one = 1;
    EXPECT_GT(small * one, 0.0f);
    return check->answer;
  }
};

TEST_F(CancelTest, theCheckDecides) {
  Context context(counting().model());
  setInputs(context, 4);
  Check check;
  context.setCancelCheck(Check::ask, &check);
  context.run();
  EXPECT_EQ(check.asked, 0);
  context.cancel();
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(2, 2.5f));
  EXPECT_EQ(check.asked, 1);
  check.answer = 1;
  context.cancel();
  expectCancelled(context);
  EXPECT_EQ(check.asked, 2);
  context.setCancelCheck(nullptr, nullptr);
  context.cancel();
  expectCancelled(context);
}

/// Calls of `halve`, and in which of them the context is cancelled.
std::atomic<int> calls, cancelAt;

void halve(void *const *buffers, const int64_t *, int64_t begin, int64_t end, void *) {
  if (++calls == cancelAt)
    signalled->cancel();
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i] / 2;
}

/// A batch that passes image by image is one step of the plan, and ends between its images.
TEST_F(CancelTest, imagesEnd) {
  TestPlan p;
  const std::vector<std::string> image = {"N", "40960"};
  uint32_t x = p.input("x", image), half = p.temporary("half", image), out = p.output("out", image);
  p.relay(halve, {x, half}, "40960", "N*40960");
  p.relay(halve, {half, out}, "40960", "N*40960");
  for (auto &instruction : p.plan().blocks[0]->instructions)
    instruction->operation.AsCallKernel()->images = "N";
  p.imageCosts({{600000, 0.02}, {0, 0.1}}, 100);
  constexpr int64_t images = 40;
  Tensor data = ramp(images * 40960);
  for (int threads : {1, 2, 3}) {
    Context context(p.model(), {.threads = threads});
    signalled = &context;
    context.setInput(0, Tensor::borrow(ElementType::f32, {images, 40960}, data.data()));
    cancelAt = 0;
    calls = 0;
    context.run();
    ASSERT_TRUE(context.instruction(0).imageByImage);
    std::vector<float> right = floats(context.output(0));
    int all = calls;
    calls = 0;
    cancelAt = 3;
    expectCancelled(context);
    EXPECT_GE(calls, 3);
    EXPECT_LT(calls, all);
    Check check;
    context.setCancelCheck(Check::ask, &check);
    for (int run = 0; run < 2; ++run) { // the check is asked, and the run goes on
      calls = 0;
      context.run();
      EXPECT_EQ(calls, all);
      EXPECT_EQ(floats(context.output(0)), right);
      EXPECT_EQ(check.asked, run + 1);
    }
  }
}

TEST_F(CancelTest, statesStayAsTheyWere) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), state = p.input("state", {"N"}), half = p.temporary("half", {"N"});
  uint32_t next = p.output("next", {"N"});
  p.half(state, half, "N");
  p.add(half, x, next, "N");
  Context context(p.model());
  context.keepState(1, 0);
  context.setInput(0, Tensor::of<float>({2}, {1, 2}));
  for (float expected : {1.f, 1.5f, 1.75f}) {
    context.cancel();
    expectCancelled(context);
    context.run();
    EXPECT_THAT(floats(context.output(0)), ElementsAre(expected, 2 * expected));
  }
}

} // namespace
