#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;

namespace {

using ImageLoopsTest = WithTestReferences;

/// out = (x / 2 + x / 4) + x, late = (x / 2 + x / 4) / 2; N images of 40960 elements, all but the last kernel by
/// images. With `stages`, 100 stages of 13 N units, called by images as well, stand in the middle of them.
TestPlan batches(bool stages = false) {
  TestPlan p;
  const std::vector<std::string> image = {"N", "40960"};
  uint32_t x = p.input("x", image), half = p.temporary("half", image), quarter = p.temporary("quarter", image);
  uint32_t sum = p.temporary("sum", image), out = p.output("out", image), late = p.output("late", image);
  p.half(x, half, "N*40960");
  p.half(half, quarter, "N*40960");
  if (stages)
    p.waves(p.output("waves", {"13*N"}, ElementType::i64), "13*N", "100");
  p.add(half, quarter, sum, "N*40960");
  p.add(sum, x, out, "N*40960");
  for (auto &instruction : p.plan().blocks[0]->instructions)
    instruction->operation.AsCallKernel()->images = "N";
  p.half(sum, late, "N*40960");
  return p;
}

TEST_F(ImageLoopsTest, callsInStagesRunWholeBesideImages) {
  auto model = batches(true).model();
  for (int threads : {1, 2, 3, 8}) {
    constexpr int64_t images = 16;
    Context context(model, {.threads = threads});
    Tensor x = ramp(images * 40960);
    context.setInput(0, Tensor::borrow(ElementType::f32, {images, 40960}, x.data()));
    context.run();
    const int64_t *got = context.output(2).tensor().as<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(got, got + 13 * images), wavesAfter(100, 13 * images)) << threads << " threads";
    int64_t last = images * 40960 - 1;
    EXPECT_EQ(floats(context.output(0))[static_cast<size_t>(last)],
              float(last) * 0.5f + float(last) * 0.25f + float(last));
  }
}

TEST_F(ImageLoopsTest, batchesPassImageByImage) {
  auto model = batches().model();
  for (int threads : {1, 2, 3, 8})
    for (int64_t images : {1, 2, 7, 8, 16}) {
      Context context(model, {.threads = threads});
      Tensor x = ramp(images * 40960);
      context.setInput(0, Tensor::borrow(ElementType::f32, {images, 40960}, x.data()));
      context.run();
      std::vector<float> out = floats(context.output(0)), late = floats(context.output(1));
      uint64_t arena = context.memory().arenaBytes;
      for (int64_t i : {int64_t(0), images * 40960 / 2, images * 40960 - 1}) {
        EXPECT_EQ(out[i], float(i) * 0.5f + float(i) * 0.25f + float(i)) << threads << " threads, image " << i / 40960;
        EXPECT_EQ(late[i], (float(i) * 0.5f + float(i) * 0.25f) * 0.5f);
      }
      // Observed, every value is there after every instruction; the results are the same.
      int seen = 0;
      RunOptions observed;
      observed.observe = [&](uint32_t instruction) {
        if (instruction == 1) {
          EXPECT_EQ(floats(context.readValue(2)).back(), float(images * 40960 - 1) * 0.25f);
        }
        ++seen;
      };
      context.run(observed);
      EXPECT_EQ(seen, 5);
      EXPECT_EQ(floats(context.output(0)), out);
      EXPECT_EQ(floats(context.output(1)), late);
      if (images >= 7 && threads < images / 2) {
        EXPECT_LT(arena, context.memory().arenaBytes) << images << " images, " << threads << " threads";
      }
      context.run({.profile = true});
      EXPECT_EQ(context.profileRows().size(), 5u);
      EXPECT_EQ(floats(context.output(0)), out);
    }
}

TEST_F(ImageLoopsTest, thePlanSaysWhichBatchesPassImageByImage) {
  auto arena = [](const std::string &least, int threads) {
    TestPlan p = batches();
    p.plan().image_loop_bytes = least;
    Context context(p.model(), {.threads = threads});
    Tensor x = ramp(16 * 40960);
    context.setInput(0, Tensor::borrow(ElementType::f32, {16, 40960}, x.data()));
    context.run();
    return context.memory().arenaBytes;
  };
  // Two values inside hand on 16 * 40960 * 4 bytes each.
  uint64_t looped = arena("", 1), whole = arena("100000000", 1);
  EXPECT_LT(looped, whole);
  EXPECT_EQ(arena("5000000*threads", 1), looped);
  EXPECT_GT(arena("5000000*threads", 2), arena("5000000", 2));
  EXPECT_THROW(arena("5000000*M", 1), Error);
}

} // namespace
