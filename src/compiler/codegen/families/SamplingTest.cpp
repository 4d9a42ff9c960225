// grid_sample and roi_align against the references, over modes, extents, layouts and types.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomTesting.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

using Shape = std::vector<int64_t>;

class Sampling : public testing::Test {
protected:
  Target target = testTarget();
  std::mt19937_64 random;
  std::string type;
  bool blocked = false, open = false; // open: the first extent of regions, or of images, is a symbol

  int64_t upTo(int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  bool maybe(unsigned n = 2) { return random() % n == 0; }
  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }
  std::string oneOf(std::vector<std::string> words) { return words[random() % words.size()]; }

  void start(uint64_t seed) {
    random.seed(seed);
    type = oneOf({"f32", "f32", "f32", "f64", "f16", "bf16"});
    blocked = maybe();
    open = maybe(3);
  }
  double tolerance() const { return type == "f64" ? 1e-9 : type == "f32" ? 2e-6 : type == "f16" ? 2e-3 : 1.6e-2; }

  static std::string tensor(const Shape &dims, const std::string &element, bool open = false, int64_t block = 0) {
    std::string text = "tensor<";
    for (size_t i = 0; i < dims.size(); ++i)
      text += (open && i == 0 ? std::string("?") : std::to_string(dims[i])) + "x";
    return text + element + (block ? fmt::format(", #nn.blocked<1, {}>", block) : "") + ">";
  }
  static std::string named(const std::string &symbol, const Shape &dims) {
    std::vector<std::string> texts = {fmt::format("\"{}\"", symbol)};
    for (size_t i = 1; i < dims.size(); ++i)
      texts.push_back(fmt::format("\"{}\"", dims[i]));
    return fmt::format(" {{nn.dims = [{}]}}", fmt::join(texts, ", "));
  }
  std::string schedule() { return maybe() ? "" : fmt::format("index/1 grain={}", upTo(20000)); }

  /// A tensor of doubles, rounded to `element`.
  static Tensor filled(const Tensor &like, const std::function<double(int64_t)> &value) {
    Tensor values(ElementType::f64, like.dims());
    for (int64_t i = 0; i < values.elements(); ++i)
      values.as<double>()[i] = value(i);
    return values.convertedTo(like.type());
  }
};

TEST_F(Sampling, gridSample) {
  for (uint64_t seed : randomSeeds(120)) {
    start(seed);
    bool volume = maybe(3);
    std::string mode = volume ? oneOf({"linear", "nearest"}) : oneOf({"linear", "nearest", "cubic"});
    Shape x = {upTo(3), maybe(4) ? 64 : upTo(35)}, grid = {x[0]}, y = x;
    for (size_t i = 0; i < (volume ? 3u : 2u); ++i) {
      x.push_back(maybe(6) ? 1 : upTo(volume ? 6 : 14));
      y.push_back(upTo(volume ? 6 : 20));
      grid.push_back(y.back());
    }
    grid.push_back(static_cast<int64_t>(x.size()) - 2);
    int64_t block = blocked ? target.channelBlock() : 0;
    std::string gridType = type == "f32" && maybe(6) ? "f64" : type;
    std::string xText = tensor(x, type, open, block), gridText = tensor(grid, gridType, open),
                yText = tensor(y, type, open, block);
    std::string text = fmt::format(
        "func.func @k(%x: {0}{1}, %g: {2}{3}) -> {4} attributes {{nn.family = \"indexed\"}} {{\n  %y = nn.grid_sample "
        "%x, %g {{mode = \"{5}\", padding_mode = \"{6}\", align_corners = {7}}} : ({0}, {2}) -> {4}\n  return %y : "
        "{4}\n}}",
        xText, open ? named("N", x) : "", gridText, open ? named("N", grid) : "", yText, mode,
        oneOf({"zeros", "border", "reflection"}), maybe());
    std::string chosen = schedule();
    KernelUnderTest kernel(text, target, seed, 1 + static_cast<int>(seed % 3));
    ASSERT_EQ(kernel.declined(chosen), "") << "seed " << seed;
    auto inputs = kernel.randomInputs(-1, 1, {{"N", x[0]}});
    // Inside and far outside, on the edges and half-way between elements, and not a number.
    inputs[1] = filled(inputs[1], [&](int64_t) {
      switch (random() % 8) {
      case 0:
        return double(int64_t(random() % 5)) - 2;
      case 1:
        return between(-40, 40);
      case 2:
        return (double(int64_t(random() % 41)) - 20) / 8;
      case 3:
        return maybe(20) ? std::numeric_limits<double>::quiet_NaN() : between(-1, 1);
      default:
        return between(-1.1, 1.1);
      }
    });
    EXPECT_EQ(difference(kernel.run(inputs, chosen).at(0), kernel.expected(inputs).at(0), tolerance()), "")
        << "seed " << seed << "\n"
        << text;
  }
}

TEST_F(Sampling, infiniteElementsBesideThePositions) {
  for (bool blocks : {false, true}) {
    int64_t block = blocks ? target.channelBlock() : 0;
    std::string x = tensor({1, 3, 4, 4}, "f32", false, block), y = tensor({1, 3, 1, 2}, "f32", false, block);
    KernelUnderTest kernel(
        fmt::format("func.func @k(%x: {0}, %g: tensor<1x1x2x2xf32>) -> {1} attributes {{nn.family = \"indexed\"}} {{\n"
                    "  %y = nn.grid_sample %x, %g {{align_corners = true}} : ({0}, tensor<1x1x2x2xf32>) -> {1}\n"
                    "  return %y : {1}\n}}",
                    x, y),
        target);
    auto inputs = kernel.randomInputs(-1, 1);
    inputs[0].as<float>()[0] = inputs[0].as<float>()[5] = std::numeric_limits<float>::infinity();
    // Partly outside, at a corner with an infinity; and exactly on a finite element.
    inputs[1] = filled(inputs[1], [](int64_t i) { return std::array{1.5, 1.5, 1.0 / 3, -1.0 / 3}[i]; });
    EXPECT_EQ(difference(kernel.run(inputs).at(0), kernel.expected(inputs).at(0), 2e-6), "");
  }
}

TEST_F(Sampling, roiAlign) {
  for (uint64_t seed : randomSeeds(120)) {
    start(seed);
    bool wide = maybe(4);
    Shape x = {upTo(3), maybe(4) ? 64 : upTo(35), maybe(6) ? 1 : upTo(20), maybe(6) ? 1 : upTo(20)};
    Shape rois = {upTo(wide ? 40 : 9), 4}, y = {rois[0], x[1], upTo(9), upTo(wide ? 20 : 9)};
    int64_t ratio = maybe() ? 0 : upTo(4), block = blocked ? target.channelBlock() : 0;
    double scale = std::array{1.0, 0.5, 0.0625, 0.3}[random() % 4];
    std::string batchType = oneOf({"i64", "i64", "i32", "ui8"});
    std::string xText = tensor(x, type, false, block), roisText = tensor(rois, type, open),
                batches = tensor({rois[0]}, batchType, open), yText = tensor(y, type, open);
    std::string text = fmt::format(
        "func.func @k(%x: {0}, %r: {1}{2}, %b: {3}{4}) -> {5} attributes {{nn.family = \"indexed\"}} {{\n"
        "  %y = nn.roi_align %x, %r, %b {{mode = \"{6}\", coordinate_mode = \"{7}\", output_height = {8} : i64, "
        "output_width = {9} : i64, sampling_ratio = {10} : i64, spatial_scale = {11:e}}} : ({0}, {1}, {3}) -> {5}\n"
        "  return %y : {5}\n}}",
        xText, roisText, open ? named("R", rois) : "", batches, open ? named("R", {rois[0]}) : "", yText,
        oneOf({"avg", "avg", "max"}), oneOf({"half_pixel", "output_half_pixel"}), y[2], y[3], ratio, scale);
    std::string chosen = schedule();
    KernelUnderTest kernel(text, target, seed, 1 + static_cast<int>(seed % 3));
    ASSERT_EQ(kernel.declined(chosen), "") << "seed " << seed;
    auto inputs = kernel.randomInputs(-1, 1, {{"R", rois[0]}});
    // Regions inside, across and beyond the image, empty regions, and regions with swapped corners.
    double side = double(std::max(x[2], x[3])) / scale;
    inputs[1] = filled(inputs[1], [&](int64_t) {
      double at = between(-0.5, 1.5) * side;
      return maybe(8) ? at * 20 : maybe(3) ? std::round(at) : at;
    });
    Tensor numbers(ElementType::i64, {rois[0]});
    for (int64_t i = 0; i < rois[0]; ++i)
      numbers.as<int64_t>()[i] = static_cast<int64_t>(random() % static_cast<uint64_t>(x[0]));
    inputs[2] = numbers.convertedTo(inputs[2].type());
    EXPECT_EQ(difference(kernel.run(inputs, chosen).at(0), kernel.expected(inputs).at(0), tolerance()), "")
        << "seed " << seed << "\n"
        << text;
  }
}

} // namespace
} // namespace lathe
