// Ranges of elements that kernels take for granted: the check alone beside a plain loop, and in a run.
#include "runtime/plan/ElementRanges.h"
#include "runtime/ThreadPool.h"
#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

#include <random>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;
using ::testing::HasSubstr;

namespace {

template <class T> class Elements : public ::testing::Test {};
using Integers = ::testing::Types<int32_t, int64_t, int8_t, uint16_t>;
TYPED_TEST_SUITE(Elements, Integers);

template <class T> ElementType typeOf() {
  return std::is_same_v<T, int32_t>   ? ElementType::i32
         : std::is_same_v<T, int64_t> ? ElementType::i64
         : std::is_same_v<T, int8_t>  ? ElementType::i8
                                      : ElementType::u16;
}

/// Elements at and beyond every bound, and the farthest numbers of the type, at every position of blocks and rests.
TYPED_TEST(Elements, agreeWithAPlainLoop) {
  using T = TypeParam;
  uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 600; ++round) {
    ThreadPool pool(1 + static_cast<int>(random() % 3));
    auto period = static_cast<size_t>(1 + below(5));
    int64_t count = round % 50 == 0 ? 20000 + below(20000) : below(300);
    std::vector<int64_t> least, most;
    for (size_t i = 0; i < period; ++i) {
      int64_t extent = below(4) == 0 ? int64_t(1) << below(50) : below(100);
      least.push_back(below(2) ? -extent : 0);
      most.push_back(extent - 1);
    }
    std::vector<T> elements(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      int64_t low = std::max<int64_t>(least[i % period], std::numeric_limits<T>::min()),
              high = std::min<int64_t>(most[i % period], std::numeric_limits<T>::max());
      elements[i] = static_cast<T>(low <= high ? low + below(high - low + 1) : 0);
    }
    for (int64_t wild = below(3); wild > 0 && count > 0; --wild) {
      int64_t i = below(count);
      int64_t values[] = {most[i % period] + 1, least[i % period] - 1, std::numeric_limits<T>::max(),
                          std::numeric_limits<T>::min()};
      elements[i] = static_cast<T>(values[below(4)]);
    }
    std::optional<int64_t> expected;
    for (int64_t i = 0; i < count && !expected; ++i)
      if (int64_t(elements[i]) < least[i % period] || int64_t(elements[i]) > most[i % period])
        expected = i;
    ElementCheck check(typeOf<T>(), count, least, most);
    ASSERT_EQ(check.findOutside(elements.data(), pool.all()), expected) << "round " << round;
  }
}

TEST(ElementRanges, floatsThatAreNotInRange) {
  ThreadPool pool(1);
  ElementCheck check(ElementType::f32, 3, {-4}, {4});
  auto first = [&](std::vector<float> elements) { return check.findOutside(elements.data(), pool.all()).value_or(-1); };
  EXPECT_EQ(first({4, -4, 0.5f}), -1);
  EXPECT_EQ(first({4, 4.001f, 5}), 1);
  EXPECT_EQ(first({0, 0, std::numeric_limits<float>::quiet_NaN()}), 2);
  EXPECT_EQ(first({-std::numeric_limits<float>::infinity(), 9, 9}), 0);
}

class CheckedRun : public WithTestReferences {
protected:
  /// out[0] = 7 after a check that indices, pairs of places in N and 3, are inside.
  static TestPlan plan() {
    TestPlan p;
    uint32_t indices = p.input("indices", {"P", "2"}, ElementType::i64), x = p.input("x", {"N"}),
             out = p.output("out", {"N"});
    p.plan().outputs = {out};
    p.relay([](void *const *buffers, const int64_t *, int64_t, int64_t,
               void *) { static_cast<float *>(buffers[2])[0] = 7; },
            {indices, x, out}, "1", "1");
    auto range = std::make_unique<plan::ElementRangeT>();
    range->buffer = 1; // after the address of the kernel
    range->least = {"-1*N", "0"};
    range->most = {"N - 1", "3"};
    range->operand = "indices";
    p.plan().blocks[0]->instructions[0]->operation.AsCallKernel()->element_ranges.push_back(std::move(range));
    return p;
  }
};

TEST_F(CheckedRun, namesTheFirstElementOutOfRange) {
  TestPlan p = plan();
  Context context(p.model());
  auto run = [&](std::vector<int64_t> indices, int64_t n) {
    std::vector<float> x(static_cast<size_t>(n));
    context.setInput(0,
                     Tensor::borrow(ElementType::i64, {static_cast<int64_t>(indices.size()) / 2, 2}, indices.data()));
    context.setInput(1, Tensor::borrow(ElementType::f32, {n}, x.data()));
    return errorOf([&] { context.run(); });
  };
  EXPECT_EQ(run({0, 0, 4, 3, -5, 1}, 5), "no error");
  EXPECT_THAT(run({0, 0, 5, 3, -6, 1}, 5), HasSubstr("indices[2] is 5, expected a number from -5 to 4"));
  EXPECT_EQ(run({0, 0, 5, 3, -6, 1}, 6), "no error"); // extents are bound anew
  EXPECT_THAT(run({0, -1}, 6), HasSubstr("indices[1] is -1, expected a number from 0 to 3"));
  EXPECT_EQ(run({}, 6), "no error");
}

TEST_F(CheckedRun, refusesMalformedRanges) {
  auto refused = [&](const std::function<void(plan::ElementRangeT &)> &damage) {
    TestPlan p = plan();
    damage(*p.plan().blocks[0]->instructions[0]->operation.AsCallKernel()->element_ranges[0]);
    return errorOf([&] { p.model(); });
  };
  EXPECT_THAT(refused([](auto &range) { range.buffer = 9; }), HasSubstr("has a range for buffer 9 of 4"));
  EXPECT_THAT(refused([](auto &range) { range.most.pop_back(); }), HasSubstr("2 lower and 1 upper bounds"));
  EXPECT_THAT(refused([](auto &range) { range.least.clear(), range.most.clear(); }),
              HasSubstr("0 lower and 0 upper bounds"));
}

} // namespace
