// Indexed operators against the references.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

using Shape = std::vector<int64_t>;

class Indexed : public testing::Test {
protected:
  Target target = testTarget();
  std::mt19937_64 random;
  std::string type, indexType;

  int64_t upTo(int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  bool maybe(unsigned n = 2) { return random() % n == 0; }
  int64_t below(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }

  void start(uint64_t seed, bool numbers = false) {
    random.seed(seed);
    const char *types[] = {"f32", "f32", "f32", "i64", "f64", "i8", "i1", "bf16", "f16"};
    type = types[random() % (numbers ? 6 : std::size(types))];
    indexType = maybe() ? "i32" : "i64";
  }
  Shape shape(size_t rank, int64_t largest) {
    Shape result(rank);
    for (int64_t &extent : result)
      extent = maybe(5) ? 1 : upTo(largest);
    return result;
  }
  static std::string tensor(const Shape &dims, const std::string &element) {
    return fmt::format("tensor<{}{}{}>", fmt::join(dims, "x"), dims.empty() ? "" : "x", element);
  }
  /// Sets indices; index i is for an axis of extents[i % extents.size()].
  void setIndices(Tensor &indices, const Shape &extents, bool fromEnd) {
    for (int64_t i = 0; i < indices.elements(); ++i) {
      int64_t extent = extents[static_cast<size_t>(i) % extents.size()], value = below(extent);
      if (fromEnd && maybe(4))
        value -= extent;
      if (indexType == "i32")
        indices.as<int32_t>()[i] = static_cast<int32_t>(value);
      else
        indices.as<int64_t>()[i] = value;
    }
  }
  void check(uint64_t seed, const std::vector<Shape> &operands, const Shape &result, const std::string &op,
             const std::string &attributes, const Shape &extents, double tolerance = 0, bool fromEnd = true) {
    std::vector<std::string> arguments, names, types;
    for (size_t i = 0; i < operands.size(); ++i) {
      names.push_back(fmt::format("%a{}", i));
      types.push_back(tensor(operands[i], i == 1 ? indexType : type));
      arguments.push_back(names.back() + ": " + types.back());
    }
    std::string y = tensor(result, type);
    std::string text = fmt::format("func.func @k({}) -> {} attributes {{nn.family = \"indexed\"}} {{\n  %y = nn.{} {} "
                                   "{{{}}} : ({}) -> {}\n  return %y : {}\n}}",
                                   fmt::join(arguments, ", "), y, op, fmt::join(names, ", "), attributes,
                                   fmt::join(types, ", "), y, y);
    std::string schedule = maybe() ? "" : fmt::format("index/1 grain={}", upTo(1000));
    KernelUnderTest kernel(text, target, seed, 1 + static_cast<int>(seed % 3));
    ASSERT_EQ(kernel.declined(schedule), "") << "seed " << seed;
    auto inputs = kernel.randomInputs(-3, 3);
    setIndices(inputs[1], extents, fromEnd);
    EXPECT_EQ(difference(kernel.run(inputs, schedule).at(0), kernel.expected(inputs).at(0), tolerance), "")
        << "seed " << seed << "\n"
        << text;
  }
  static std::string list(const Shape &values) { return fmt::format("array<i64: {}>", fmt::join(values, ", ")); }
  /// Checks an operator of one operand on small whole numbers, many of which are equal.
  void checkWindows(uint64_t seed, const Shape &x, const std::string &y, const std::string &op,
                    const std::string &attributes, double tolerance) {
    std::string text = fmt::format("func.func @k(%x: {0}) -> {1} attributes {{nn.family = \"indexed\"}} {{\n  %y = "
                                   "nn.{2} %x {{{3}}} : ({0}) -> {1}\n  return %y : {1}\n}}",
                                   tensor(x, type), y, op, attributes);
    std::string schedule = maybe() ? "" : fmt::format("index/1 grain={}", upTo(1000));
    KernelUnderTest kernel(text, target, seed, 1 + static_cast<int>(seed % 3));
    ASSERT_EQ(kernel.declined(schedule), "") << "seed " << seed << "\n" << text;
    auto inputs = kernel.randomInputs(-3, 3);
    for (int64_t i = 0; i < inputs[0].elements() && type == "f32"; ++i) {
      float &value = inputs[0].as<float>()[i];
      value = op == "max_pool_indices" && maybe(12) ? std::numeric_limits<float>::quiet_NaN() : std::round(value);
    }
    EXPECT_EQ(difference(kernel.run(inputs, schedule).at(0), kernel.expected(inputs).at(0), tolerance), "")
        << "seed " << seed << "\n"
        << text;
  }
  const char *reduction(bool numbers) {
    const char *names[] = {"none", "add", "mul", "max", "min"};
    return names[numbers ? random() % 5 : 0];
  }
};

uint64_t firstSeed() {
  uint64_t seed = std::getenv("LATHE_TEST_SEED") ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                                                 : std::random_device{}() % 1000000;
  std::cout << "first seed " << seed << " (LATHE_TEST_SEED repeats it)\n";
  return seed;
}

TEST_F(Indexed, gatherElements) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 80; ++seed) {
    start(seed);
    Shape x = shape(1 + seed % 4, 30), indices = x;
    auto axis = static_cast<size_t>(below(static_cast<int64_t>(x.size())));
    for (size_t i = 0; i < x.size(); ++i)
      indices[i] = i == axis ? upTo(40) : upTo(x[i]);
    check(seed, {x, indices}, indices, "gather_elements", fmt::format("axis = {} : i64", axis), {x[axis]});
  }
}

TEST_F(Indexed, gatherNd) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 80; ++seed) {
    start(seed);
    Shape x = shape(1 + seed % 4, 20);
    auto batch = static_cast<size_t>(below(static_cast<int64_t>(x.size())));
    auto count = static_cast<size_t>(upTo(static_cast<int64_t>(x.size() - batch)));
    Shape indices(x.begin(), x.begin() + static_cast<int64_t>(batch)), extents;
    for (int64_t i = below(3); i > 0; --i)
      indices.push_back(upTo(8));
    Shape result = indices;
    indices.push_back(static_cast<int64_t>(count));
    result.insert(result.end(), x.begin() + static_cast<int64_t>(batch + count), x.end());
    extents.assign(x.begin() + static_cast<int64_t>(batch), x.begin() + static_cast<int64_t>(batch + count));
    check(seed, {x, indices}, result, "gather_nd", fmt::format("batch_dims = {} : i64", batch), extents);
  }
}

TEST_F(Indexed, reverseSequence) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 60; ++seed) {
    start(seed);
    indexType = "i64";
    Shape x = shape(2 + seed % 3, 20);
    size_t time = maybe() ? 0 : 1;
    check(seed, {x, {x[1 - time]}}, x, "reverse_sequence",
          fmt::format("batch_axis = {} : i64, time_axis = {} : i64", 1 - time, time), {x[time] + 1}, 0, false);
  }
}

TEST_F(Indexed, maxUnpool) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 60; ++seed) {
    start(seed);
    indexType = "i64";
    Shape x = shape(3 + seed % 3, 6), y = x;
    std::vector<int64_t> kernel, strides, pads(2 * (x.size() - 2), 0);
    int64_t places = y[0] * y[1];
    for (size_t i = 2; i < x.size(); ++i) {
      kernel.push_back(upTo(3));
      strides.push_back(upTo(3));
      y[i] = (x[i] - 1) * strides.back() + kernel.back();
      places *= y[i];
    }
    check(seed, {x, x}, y, "max_unpool",
          fmt::format("kernel = array<i64: {}>, strides = array<i64: {}>, pads = array<i64: {}>, operandSegmentSizes = "
                      "array<i32: 1, 1, 0>",
                      fmt::join(kernel, ", "), fmt::join(strides, ", "), fmt::join(pads, ", ")),
          {places}, 0, false);
  }
}

TEST_F(Indexed, positionsOfMaxima) {
  for (uint64_t first = firstSeed(), seed = first; seed < first + 60; ++seed) {
    start(seed, true);
    Shape x = shape(3 + seed % 3, 12), y = x, kernel, strides, dilations, pads(2 * (x.size() - 2));
    for (size_t i = 2; i < x.size(); ++i) {
      size_t axis = i - 2, spatial = x.size() - 2;
      kernel.push_back(upTo(std::min<int64_t>(3, x[i])));
      strides.push_back(upTo(3));
      dilations.push_back(kernel.back() > 1 && (kernel.back() - 1) * 2 < x[i] ? upTo(2) : 1);
      pads[axis] = below(kernel.back());
      pads[spatial + axis] = below(kernel.back());
      int64_t extent = (kernel.back() - 1) * dilations.back() + 1;
      y[i] = (x[i] + pads[axis] + pads[spatial + axis] - extent) / strides.back() + 1;
    }
    checkWindows(seed, x, tensor(y, "i64"), "max_pool_indices",
                 fmt::format("kernel = {}, strides = {}, dilations = {}, pads = {}, column_major = {}", list(kernel),
                             list(strides), list(dilations), list(pads), maybe()),
                 0);
  }
}

TEST_F(Indexed, blocksAddedBack) {
  for (uint64_t first = firstSeed(), seed = first; seed < first + 60; ++seed) {
    start(seed, true);
    size_t spatial = 1 + seed % 3;
    Shape image(spatial), block(spatial), strides(spatial), dilations(spatial), pads(2 * spatial),
        y = {upTo(3), upTo(5)};
    Shape x = {y[0], y[1], 1};
    for (size_t i = 0; i < spatial; ++i) {
      block[i] = upTo(3);
      dilations[i] = upTo(2);
      strides[i] = upTo(3);
      image[i] = (block[i] - 1) * dilations[i] + upTo(8);
      pads[i] = below(3);
      pads[spatial + i] = below(3);
      x[1] *= block[i];
      x[2] *= (image[i] + pads[i] + pads[spatial + i] - (block[i] - 1) * dilations[i] - 1) / strides[i] + 1;
      y.push_back(image[i]);
    }
    double tolerance = type == "f16" || type == "bf16" ? 2e-2 : type == "f64" ? 1e-12 : 1e-5;
    checkWindows(seed, x, tensor(y, type), "col2im",
                 fmt::format("image = {}, block = {}, dilations = {}, pads = {}, strides = {}, operandSegmentSizes = "
                             "array<i32: 1, 0, 0>",
                             list(image), list(block), list(dilations), list(pads), list(strides)),
                 tolerance);
  }
}

TEST_F(Indexed, scatterElements) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 80; ++seed) {
    bool numbers = seed % 3 != 0;
    start(seed, numbers);
    Shape x = shape(1 + seed % 4, 20), indices = x;
    auto axis = static_cast<size_t>(below(static_cast<int64_t>(x.size())));
    for (size_t i = 0; i < x.size(); ++i)
      indices[i] = upTo(i == axis ? 9 : x[i]);
    check(seed, {x, indices, indices}, x, "scatter_elements",
          fmt::format("axis = {} : i64, reduction = \"{}\"", axis, reduction(numbers && type != "i1")), {x[axis]},
          1e-6);
  }
}

TEST_F(Indexed, scatterNd) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 80; ++seed) {
    bool numbers = seed % 3 != 0;
    start(seed, numbers);
    Shape x = shape(1 + seed % 4, 16), indices, updates;
    int64_t count = upTo(static_cast<int64_t>(x.size()));
    for (int64_t i = below(3); i > 0; --i)
      indices.push_back(upTo(6));
    updates = indices;
    indices.push_back(count);
    updates.insert(updates.end(), x.begin() + count, x.end());
    check(seed, {x, indices, updates}, x, "scatter_nd", fmt::format("reduction = \"{}\"", reduction(numbers)),
          Shape(x.begin(), x.begin() + count), 1e-6);
  }
}

} // namespace
} // namespace lathe
