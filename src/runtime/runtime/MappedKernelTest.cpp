#include "runtime/MappedKernel.h"

#include "runtime/testing/TestPlan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;

namespace {

/// The runtime's test kernels, by their place in testing/Kernels.ld.
enum { half = 1, units = 3, waves = 4, table = 5 };

struct MappedKernelTest : ::testing::Test {
  package::CodeSection code = testCode();
  MappedKernel kernel(size_t index) const { return {code.image, code.entries.at(index)}; }
};

TEST_F(MappedKernelTest, CallsFlushDenormalsAndRestoreTheMode) {
  volatile float least = std::numeric_limits<float>::min();
  float x[] = {8, least, 3}, out[] = {-1, -1, -1};
  void *buffers[] = {x, out};
  kernel(half).call(buffers, nullptr, 0, 2, nullptr);
  EXPECT_EQ(out[0], 4);
  EXPECT_EQ(out[1], 0) << "half of the least normal number is flushed";
  EXPECT_EQ(out[2], -1) << "outside [begin, end)";
  EXPECT_GT(least / 2, 0) << "the caller's mode is as it was";
}

TEST_F(MappedKernelTest, TablesLieBesideTheCode) {
  float out[4] = {};
  void *buffers[] = {out};
  MappedKernel first = kernel(table), moved = std::move(first);
  moved.call(buffers, nullptr, 0, 4, nullptr);
  EXPECT_EQ(out[3], 4.5f);
  EXPECT_EQ(moved.codeBytes(), code.image.size());
}

TEST_F(MappedKernelTest, WorkIsSplitOverTheThreads) {
  ThreadPool pool(3);
  int64_t out[9] = {};
  void *buffers[] = {out};
  kernel(units).run(pool, {.buffers = buffers, .units = 9});
  for (int64_t unit = 0; unit < 9; ++unit)
    EXPECT_EQ(out[unit], unit / 3 * 3) << unit;
}

/// Each stage reads what all threads wrote in the previous stage, in a scratch that they share.
TEST_F(MappedKernelTest, StagesRunOneAfterTheOther) {
  constexpr int64_t width = 64, stages = 20;
  std::vector<int64_t> expected(width), alone(width), together(width), scratch(2 * width);
  for (int64_t i = 0; i < width; ++i)
    expected[size_t(i)] = i;
  for (int64_t stage = 1; stage < stages; ++stage) {
    std::vector<int64_t> before = expected;
    for (int64_t i = 0; i < width; ++i)
      expected[size_t(i)] = (before[size_t((i + 1) % width)] * 3 + before[size_t((i + width - 1) % width)]) % 10007;
  }
  int64_t dims[] = {width};
  for (auto [threads, out] : {std::pair{1, &alone}, std::pair{4, &together}}) {
    ThreadPool pool(threads);
    void *buffers[] = {out->data()};
    kernel(waves).run(pool, {.buffers = buffers,
                             .dims = dims,
                             .units = width * stages,
                             .stages = stages,
                             .scratch = reinterpret_cast<char *>(scratch.data())});
    EXPECT_EQ(*out, expected) << threads;
  }
}

TEST_F(MappedKernelTest, ImagesPassInThePlacesOfTheThreads) {
  ThreadPool pool(2);
  int64_t out[15] = {}, imageBytes[] = {3 * sizeof(int64_t)};
  void *buffers[] = {out};
  kernel(units).runImages(pool, {.buffers = buffers, .units = 15}, 5,
                          imageBytes); // each unit writes at the buffer of its call
  // Images 0 and 1 pass in place 0, 2 and 3 in place 1, then both threads share image 4 in place 0.
  EXPECT_EQ(out[0], 12);
  EXPECT_GE(out[2], 13);
  for (int i : {3, 4, 5})
    EXPECT_EQ(out[i], 9) << i;
  for (int i = 6; i < 15; ++i)
    EXPECT_EQ(out[i], 0) << i;
}

TEST(ExecutableCode, OwnsItsMemory) {
  ExecutableCode none, code(std::string("some code"), "test");
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(code.bytes(), 9u);
  const char *at = code.data();
  ExecutableCode moved = std::move(code);
  EXPECT_EQ(moved.data(), at);
  EXPECT_TRUE(code.empty());
  EXPECT_EQ(std::string(at, 9), "some code");
}

} // namespace
