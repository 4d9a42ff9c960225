// What threads share, run under ThreadSanitizer: one model, a context for each thread, worker threads in each.
#include "runtime/Context.h"
#include "runtime/testing/TestPlan.h"

#include <gtest/gtest.h>

#include <thread>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;

namespace {

/// Kernels, a reference, and extents that depend on data: every path of the executor that threads can meet on.
std::shared_ptr<const Model> sharedModel() {
  useTestReferences();
  TestPlan p;
  uint32_t x = p.input("x", {"N", "16"}), sums = p.temporary("sums", {"N"});
  uint32_t negative = p.temporary("negative", {"N"}), kept = p.dynamic("kept", {"?0"}),
           late = p.temporary("late", {"?0"});
  uint32_t out = p.output("out", {"N"}), some = p.output("some", {"?0"});
  p.rowsum(x, sums, "N", "16");
  p.reference("negate", {int32_t(sums)}, {negative});
  p.half(negative, out, "N");
  p.reference("nonnegative", {int32_t(sums)}, {kept});
  p.half(kept, late, "?0");
  p.add(kept, late, some, "?0");
  return p.model();
}

TEST(ThreadsTest, contextsOnManyThreadsShareAModel) {
  auto model = sharedModel();
  auto work = [&](int number) {
    Context context(model, {.threads = 1 + number % 3});
    for (int repeat = 0; repeat < 60; ++repeat) {
      int64_t rows = 1 + (repeat * 7 + number) % 40;
      Tensor x(ElementType::f32, {rows, 16});
      for (int64_t i = 0; i < x.elements(); ++i)
        x.as<float>()[i] = static_cast<float>(number + 1);
      context.setInput(0, x);
      context.run({.profile = repeat % 2 == 0});
      const Tensor &out = context.output(0).tensor(), &some = context.output(1).tensor();
      for (int64_t i = 0; i < rows; ++i) {
        ASSERT_EQ(out.as<float>()[i], -8.0f * static_cast<float>(number + 1));
        ASSERT_EQ(some.as<float>()[i], 24.0f * static_cast<float>(number + 1));
      }
    }
  };
  std::vector<std::thread> threads;
  for (int number = 1; number < 4; ++number)
    threads.emplace_back(work, number);
  work(0);
  for (std::thread &thread : threads)
    thread.join();
}

TEST(ThreadsTest, modelsAreLoadedAndFreedOnAnyThread) {
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([] {
      for (int repeat = 0; repeat < 10; ++repeat) {
        auto model = sharedModel();
        Context context(model, {.threads = 2});
        context.setInput(0, Tensor::of<float>({1, 16}, std::span<const float>(std::vector<float>(16, 1.0f))));
        model.reset(); // the context keeps it
        context.run();
        EXPECT_EQ(*context.output(0).tensor().as<float>(), -8.0f);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
