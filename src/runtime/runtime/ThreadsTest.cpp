// Data that threads share, run under ThreadSanitizer: one model, a context for each thread, worker threads in each,
// images and stages that slots take turns at.
#include "runtime/Context.h"
#include "runtime/ThreadPool.h"
#include "runtime/testing/TestPlan.h"

#include <gtest/gtest.h>

#include <thread>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;

namespace {

/// Teams of these sizes, the slots of each behind those of the one before.
std::vector<ThreadPool::Slots> following(const std::vector<int> &sizes) {
  std::vector<ThreadPool::Slots> slots;
  for (int size : sizes)
    slots.push_back({slots.empty() ? 0 : slots.back().first + slots.back().count, size});
  return slots;
}

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

/// Contexts of one model on four threads, on pools of their own or on slots of `pool`.
void runContexts(std::shared_ptr<ThreadPool> pool) {
  auto model = sharedModel();
  auto work = [&](int number) {
    Context context(model, {.threads = 1 + number % 3, .pool = pool, .firstSlot = pool ? number : 0});
    for (int repeat = 0; repeat < 60; ++repeat) {
      int64_t rows = 1 + (repeat * 7 + number) % 40;
      Tensor x(ElementType::f32, {rows, 16});
      for (int64_t i = 0; i < x.elements(); ++i)
        x.as<float>()[i] = static_cast<float>(number + 1);
      context.setInput(0, x);
      context.run({.profile = repeat % 2 == 0, .trace = repeat % 4 == 0});
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

TEST(ThreadsTest, contextsOnManyThreadsShareAModel) { runContexts(nullptr); }
TEST(ThreadsTest, contextsShareSlotsOfAPool) { runContexts(std::make_shared<ThreadPool>(6)); } // 0, 1-2, 2-4, 3

// Kernels compiled into this program, so that ThreadSanitizer sees their reads and writes.

void halve(void *const *buffers, const int64_t *, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i] * 0.5f;
}

void sumUp(void *const *buffers, const int64_t *, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[2])[i] =
        static_cast<const float *>(buffers[0])[i] + static_cast<const float *>(buffers[1])[i];
}

/// Each unit adds two neighbours of the previous stage, which other slots have written.
void wave(void *const *buffers, const int64_t *dims, int64_t begin, int64_t end, void *scratch) {
  int64_t width = dims[0], *out = static_cast<int64_t *>(buffers[0]);
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t stage = unit / width, i = unit % width;
    int64_t *both = static_cast<int64_t *>(scratch);
    int64_t *to = both + stage % 2 * width, *from = both + (stage + 1) % 2 * width;
    out[i] = to[i] = stage == 0 ? 1 : from[(i + 1) % width] + from[(i + width - 1) % width];
  }
}

TEST(ThreadsTest, imagesPassThroughKernelsSlotBySlot) {
  TestPlan p;
  uint32_t x = p.input("x", {"N", "20480"}), half = p.temporary("half", {"N", "20480"});
  uint32_t quarter = p.temporary("quarter", {"N", "20480"}), sum = p.temporary("sum", {"N", "20480"});
  uint32_t out = p.output("out", {"N", "20480"});
  p.relay(halve, {x, half}, "20480", "N*20480");
  p.relay(halve, {half, quarter}, "20480", "N*20480");
  p.relay(sumUp, {half, quarter, sum}, "20480", "N*20480");
  p.relay(sumUp, {sum, x, out}, "20480", "N*20480");
  for (auto &instruction : p.plan().blocks[0]->instructions)
    instruction->operation.AsCallKernel()->images = "N";
  p.imageCosts({{400000, 0.02}, {0, 0.1}}, 100); // one image of a call stays near, two do not
  auto model = p.model();
  for (int threads : {2, 3}) {
    constexpr int64_t images = 11; // more than slots share equally
    Context context(model, {.threads = threads}), whole(model, {.threads = threads});
    Tensor input(ElementType::f32, {images, 20480});
    for (int64_t i = 0; i < input.elements(); ++i)
      input.as<float>()[i] = static_cast<float>(i % 512);
    context.setInput(0, input);
    whole.setInput(0, input);
    RunOptions observed; // passes the whole batch through one kernel after the other
    observed.observe = [](uint32_t) {};
    whole.run(observed);
    for (int repeat = 0; repeat < 3; ++repeat)
      context.run({.profile = repeat == 1, .trace = repeat == 1});
    EXPECT_LT(context.memory().arenaBytes, whole.memory().arenaBytes) << "no image loop, " << threads << " threads";
    for (int64_t i = 0; i < input.elements(); ++i)
      ASSERT_EQ(context.output(0).tensor().as<float>()[i], static_cast<float>(i % 512) * 1.75f) << threads;
  }
}

TEST(ThreadsTest, stagesWaitForEachOther) {
  TestPlan p;
  uint32_t out = p.output("out", {"3000"}, ElementType::i64);
  p.relay(wave, {out}, "3000", "3000*50", "3000*16"); // long enough for all slots to take part
  p.plan().blocks[0]->instructions.back()->operation.AsCallKernel()->stages = "50";
  auto model = p.model();
  for (int threads : {2, 3}) {
    Context context(model, {.threads = threads});
    for (int repeat = 0; repeat < 10; ++repeat) {
      context.run();
      for (int64_t i = 0; i < 3000; ++i)
        ASSERT_EQ(context.output(0).tensor().as<int64_t>()[i], int64_t(1) << 49) << threads << " threads";
    }
  }
}

/// Branches: each team doubles a row, then the last team adds up all rows.
TEST(ThreadsTest, teamsWriteApartAndJoin) {
  constexpr int64_t width = 512;
  struct Rows {
    std::vector<std::vector<int64_t>> rows;
    std::vector<int64_t> sum = std::vector<int64_t>(width);
  };
  for (std::vector<int> sizes : std::vector<std::vector<int>>{{1, 1}, {2, 1}, {2, 2, 3}}) {
    ThreadPool pool(7);
    ThreadPool::Teams teams(pool, following(sizes));
    Rows all{std::vector<std::vector<int64_t>>(sizes.size(), std::vector<int64_t>(width, 1))};
    for (int repeat = 0; repeat < 20; ++repeat) {
      teams.run(
          [](void *context, int number, const ThreadPool::Team &team) {
            std::vector<int64_t> &row = static_cast<Rows *>(context)->rows[static_cast<size_t>(number)];
            team.run(
                width,
                [](void *own, int, int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i)
                    (*static_cast<std::vector<int64_t> *>(own))[static_cast<size_t>(i)] *= 2;
                },
                &row);
          },
          &all);
      pool.run(
          width,
          [](void *context, int, int64_t begin, int64_t end) {
            auto &own = *static_cast<Rows *>(context);
            for (int64_t i = begin; i < end; ++i) {
              own.sum[static_cast<size_t>(i)] = 0;
              for (const std::vector<int64_t> &row : own.rows)
                own.sum[static_cast<size_t>(i)] += row[static_cast<size_t>(i)];
            }
          },
          &all);
      for (int64_t sum : all.sum)
        ASSERT_EQ(sum, static_cast<int64_t>(sizes.size()) << (repeat + 1));
    }
  }
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
