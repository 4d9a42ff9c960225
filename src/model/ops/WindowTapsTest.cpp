// Compares operation counts of convolutions and pooling with a count of every tap, as in benchdnn (oneDNN,
// prb_t::count_ops).
#include "ops/Registry.h"
#include "ops/WindowPads.h"

#include <gtest/gtest.h>

#include <random>

namespace lathe {
namespace {

struct Window {
  int64_t in, kernel, stride, dilation, begin, end;
};

/// Counts pairs of a position (of `positions`) and a tap that read one of `elements`.
int64_t countOf(const Window &window, int64_t positions, int64_t elements, int64_t begin) {
  int64_t count = 0;
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t tap = 0; tap < window.kernel; ++tap) {
      int64_t at = p * window.stride - begin + tap * window.dilation;
      count += at >= 0 && at < elements;
    }
  return count;
}

Window randomWindow(std::mt19937_64 &random) {
  auto upTo = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n + 1)); };
  Window window{1 + upTo(9), 1 + upTo(4), 1 + upTo(3), 1 + upTo(2), 0, 0};
  int64_t extent = (window.kernel - 1) * window.dilation + 1;
  window.begin = upTo(extent - 1);
  window.end = upTo(extent - 1);
  if (window.in + window.begin + window.end < extent)
    window.in = extent;
  return window;
}

/// Operations of `op`; the symbol H, if the operand has it, has the value `extent`.
int64_t operations(const char *op, const Attrs &attrs, const std::vector<TensorInfo> &operands, int64_t extent) {
  InferInputs in, out;
  for (const TensorInfo &operand : operands)
    in.push_back(&operand);
  InferResult results = findOp(op)->infer(attrs, in);
  for (const TensorInfo &result : results)
    out.push_back(&result);
  return findOp(op)->flops(attrs, in, out).evaluate([&](const std::string &) { return extent; });
}

/// The first extent as a number, and as a symbol.
std::vector<Dim> forms(int64_t extent) { return {Dim(extent), Dim::symbol("H")}; }

template <class WindowAttrs> void set(WindowAttrs &attrs, const Window &a, const Window &b) {
  attrs.strides = {a.stride, b.stride};
  attrs.dilations = {a.dilation, b.dilation};
  attrs.pads = {a.begin, b.begin, a.end, b.end};
}

constexpr uint64_t seeds = 200;

TEST(WindowTaps, convolutionsCountTapsInsideTheInput) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    std::mt19937_64 random(seed);
    Window a = randomWindow(random), b = randomWindow(random);
    ConvAttrs attrs;
    set(attrs, a, b);
    attrs.group = 2;
    auto out = [](const Window &w) {
      return (w.in + w.begin + w.end - (w.kernel - 1) * w.dilation - 1) / w.stride + 1;
    };
    int64_t expected = 2 * 3 * 6 * 2 * countOf(a, out(a), a.in, a.begin) * countOf(b, out(b), b.in, b.begin);
    TensorInfo w{ElementType::f32, {6, 2, a.kernel, b.kernel}, {}}, bias{ElementType::f32, {6}, {}};
    for (const Dim &extent : forms(a.in))
      EXPECT_EQ(operations("conv", attrs, {{ElementType::f32, {3, 4, extent, b.in}, {}}, w, bias}, a.in), expected)
          << "seed " << seed << ", " << extent.str();
  }
}

TEST(WindowTaps, transposedConvolutionsCountTapsInsideTheResult) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    std::mt19937_64 random(seed);
    Window a = randomWindow(random), b = randomWindow(random);
    ConvTransposeAttrs attrs;
    set(attrs, a, b);
    attrs.output_padding = {0, 0};
    auto out = [](const Window &w) {
      return (w.in - 1) * w.stride + (w.kernel - 1) * w.dilation + 1 - w.begin - w.end;
    };
    if (out(a) < 1 || out(b) < 1)
      continue;
    int64_t expected = 2 * 3 * 4 * 5 * countOf(a, a.in, out(a), a.begin) * countOf(b, b.in, out(b), b.begin);
    TensorInfo w{ElementType::f32, {4, 5, a.kernel, b.kernel}, {}};
    for (const Dim &extent : forms(a.in))
      EXPECT_EQ(operations("conv_transpose", attrs, {{ElementType::f32, {3, 4, extent, b.in}, {}}, w}, a.in), expected)
          << "seed " << seed << ", " << extent.str();
  }
}

TEST(WindowTaps, poolingCountsTapsInsideTheInput) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    std::mt19937_64 random(seed);
    Window a = randomWindow(random), b = randomWindow(random);
    MaxPoolAttrs attrs;
    set(attrs, a, b);
    attrs.kernel = {a.kernel, b.kernel};
    attrs.ceil_mode = seed % 2 == 1;
    for (const Dim &extent : forms(a.in)) {
      TensorInfo x{ElementType::f32, {3, 4, extent, b.in}, {}};
      TensorInfo known{ElementType::f32, {3, 4, a.in, b.in}, {}};
      TensorInfo y = findOp("max_pool")->infer(attrs, {&known})[0];
      int64_t expected =
          3 * 4 * countOf(a, y.dims[2].constant(), a.in, a.begin) * countOf(b, y.dims[3].constant(), b.in, b.begin);
      EXPECT_EQ(operations("max_pool", attrs, {x}, a.in), expected) << "seed " << seed << ", " << extent.str();
    }
  }
}

TEST(WindowTaps, paddingMayFollowTheExtent) {
  for (int64_t extent = 1; extent < 12; ++extent)
    for (int64_t stride : {2, 3}) {
      ConvAttrs attrs;
      attrs.strides = {stride};
      attrs.dilations = {1};
      attrs.pads = samePads({Dim::symbol("H")}, {3}, attrs.strides, sameUpper);
      int64_t windows = (extent + stride - 1) / stride;
      int64_t total = std::max<int64_t>(0, (windows - 1) * stride + 3 - extent);
      Window window{extent, 3, stride, 1, total / 2, total - total / 2};
      TensorInfo x{ElementType::f32, {1, 1, Dim::symbol("H")}, {}}, w{ElementType::f32, {1, 1, 3}, {}};
      EXPECT_EQ(operations("conv", attrs, {x, w}, extent), 2 * countOf(window, windows, extent, window.begin))
          << extent << " by " << stride;
    }
}

} // namespace
} // namespace lathe
