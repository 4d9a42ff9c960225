// The integer arithmetic of quantised networks in separate kernels and in epilogues of contractions, compared with the
// references: exact, over all of i32.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomTesting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace lathe {
namespace {

class Quantize : public testing::Test {
protected:
  Target target = testTarget();
  std::mt19937_64 random{baseSeed()};

  int64_t upTo(int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }

  /// Numbers of all magnitudes, including the greatest and the least.
  Tensor sums(std::vector<int64_t> dims) {
    Tensor t(ElementType::i32, std::move(dims));
    for (int64_t i = 0; i < t.elements(); ++i)
      t.as<int32_t>()[i] = i % 61 == 0   ? INT32_MIN
                           : i % 67 == 0 ? INT32_MAX
                                         : static_cast<int32_t>(random()) >> (random() % 31);
    return t;
  }
  Tensor shifts(std::vector<int64_t> dims, int64_t most) {
    Tensor t(ElementType::i32, std::move(dims));
    for (int64_t i = 0; i < t.elements(); ++i)
      t.as<int32_t>()[i] = static_cast<int32_t>(random() % static_cast<uint64_t>(most + 32)) - 31;
    return t;
  }
  Tensor bytes(ElementType type, std::vector<int64_t> dims) {
    Tensor t(type, std::move(dims));
    for (int64_t i = 0; i < t.bytes(); ++i)
      static_cast<char *>(t.data())[i] = static_cast<char>(random());
    return t;
  }

  void expectExact(const std::string &text, const std::vector<Tensor> &inputs, const std::string &schedule = "") {
    KernelUnderTest kernel(text, target, random());
    std::vector<Tensor> got = kernel.run(inputs, schedule), wanted = kernel.expected(inputs);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t r = 0; r < got.size(); ++r)
      for (int64_t i = 0; i < wanted[r].elements(); ++i)
        ASSERT_EQ(got[r].asInteger(i), wanted[r].asInteger(i))
            << "element " << i << ", LATHE_SEED=" << baseSeed() << "\n"
            << text;
  }
};

TEST_F(Quantize, requantizeOfAllSums) {
  const char *limits[] = {"to = i8, zero_point = -7 : i64", "to = ui8, zero_point = 200 : i64, min = 3 : i64",
                          "to = i16, max = 1000 : i64", "to = i32"};
  for (const char *rounding : {"double", "single"})
    for (const char *to : limits) {
      std::string type = std::string(to).substr(
          5, std::string(to).find(',') == std::string::npos ? std::string::npos : std::string(to).find(',') - 5);
      // Scales per row, per column, and one scale for all; 37 columns leave a partial vector.
      for (const char *scale : {"5x1", "37", "1"}) {
        std::vector<int64_t> dims = scale[0] == '5' ? std::vector<int64_t>{5, 1} : std::vector<int64_t>{atoi(scale)};
        expectExact(fmt::format("func.func @k(%x: tensor<5x37xi32>, %m: tensor<{0}xi32>, %s: tensor<{0}xi32>) -> "
                                "tensor<5x37x{1}> attributes {{nn.family = \"elementwise\"}} {{\n"
                                "  %y = nn.requantize %x, %m, %s {{{2}, rounding = \"{3}\"}} : (tensor<5x37xi32>, "
                                "tensor<{0}xi32>, tensor<{0}xi32>) -> tensor<5x37x{1}>\n"
                                "  return %y : tensor<5x37x{1}>\n}}",
                                scale, type, to, rounding),
                    {sums({5, 37}), sums(dims), shifts(dims, 30)});
      }
    }
}

/// Halves, zeros, numbers beyond every limit and beyond i32, infinities and NaN.
Tensor floats(std::mt19937_64 &random, std::vector<int64_t> dims) {
  Tensor t(ElementType::f32, std::move(dims));
  constexpr float special[] = {-0.0f, 0.5f, -0.5f, 1e30f, -1e30f, 3e9f, -3e9f, INFINITY, -INFINITY, NAN};
  for (int64_t i = 0; i < t.elements(); ++i)
    t.as<float>()[i] = i % 3 == 0   ? special[i / 3 % std::size(special)]
                       : i % 3 == 1 ? static_cast<float>(int64_t(random() % 1200) - 600) / 2
                                    : static_cast<float>(int64_t(random() % 100000) - 50000) / 97;
  return t;
}

/// round, a zero point, limits and the conversion to bytes take few instructions and give the same results, including
/// NaN and the sign of zeros; the conversion back to floats, too.
TEST_F(Quantize, floatsToBytesAndBack) {
  Tensor x = floats(random, {5, 77});
  for (bool isSigned : {false, true})
    for (int zero : {0, 117, -5})
      for (auto [least, most] : {std::pair(isSigned ? -128 : 0, isSigned ? 127 : 255), std::pair(3, 100)}) {
        std::string f = "tensor<5x77xf32>", y = fmt::format("tensor<5x77x{}>", isSigned ? "i8" : "ui8");
        std::string text = fmt::format(
            "func.func @k(%x: {0}) -> ({1}, {0}) attributes {{nn.family = \"elementwise\"}} {{\n"
            "  %c = nn.constant {{value = dense<{2}.0> : tensor<f32>}} : tensor<f32>\n"
            "  %r = nn.round %x : ({0}) -> {0}\n{3}"
            "  %l = nn.clip {4} {{min = {5}.0 : f64, max = {6}.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>}} : "
            "({0}) -> {0}\n"
            "  %y = nn.cast %l {{to = {7}}} : ({0}) -> {1}\n  %f = nn.cast %y {{to = f32}} : ({1}) -> {0}\n{8}"
            "  return %y, {9} : {1}, {0}\n}}",
            f, y, zero, zero ? fmt::format("  %s = nn.add %r, %c : ({0}, tensor<f32>) -> {0}\n", f) : "",
            zero ? "%s" : "%r", least, most, isSigned ? "i8" : "ui8",
            zero ? fmt::format("  %d = nn.sub %f, %c : ({0}, tensor<f32>) -> {0}\n", f) : "", zero ? "%d" : "%f");
        KernelUnderTest kernel(text, target, random());
        std::vector<Tensor> inputs = {x}, got = kernel.run(inputs), wanted = kernel.expected(inputs);
        for (size_t r = 0; r < 2; ++r)
          EXPECT_EQ(std::memcmp(got[r].data(), wanted[r].data(), wanted[r].bytes()), 0) << "result " << r << "\n"
                                                                                        << text;
      }
}

TEST_F(Quantize, requantizeOfWideSums) {
  Tensor x(ElementType::i64, {3, 37});
  for (int64_t i = 0; i < x.elements(); ++i)
    x.as<int64_t>()[i] = static_cast<int64_t>(random()) >> (16 + random() % 47);
  Tensor m = sums({37});
  for (int64_t i = 0; i < m.elements(); ++i)
    m.as<int32_t>()[i] &= INT32_MAX;
  expectExact(
      "func.func @k(%x: tensor<3x37xi64>, %m: tensor<37xi32>, %s: tensor<37xi32>) -> tensor<3x37xi16> attributes "
      "{nn.family = \"elementwise\"} {\n"
      "  %y = nn.requantize %x, %m, %s {to = i16, rounding = \"reduced\"} : (tensor<3x37xi64>, tensor<37xi32>, "
      "tensor<37xi32>) -> tensor<3x37xi16>\n  return %y : tensor<3x37xi16>\n}",
      {x, m, shifts({37}, 14)});
}

TEST_F(Quantize, lookups) {
  for (const char *from : {"i8", "ui8", "i16"})
    for (const char *to : {"i8", "ui8", "i16", "i32"}) {
      bool wide = std::string(from) == "i16";
      if (wide && std::string(to) != "i16")
        continue;
      std::string values;
      for (int i = 0; i < (wide ? 513 : 256); ++i)
        values += fmt::format("{}{}", i ? ", " : "", wide ? static_cast<int16_t>(random()) : int64_t(random() % 128));
      ElementType type = wide ? ElementType::i16 : from[0] == 'u' ? ElementType::u8 : ElementType::i8;
      expectExact(fmt::format("func.func @k(%x: tensor<3x101x{0}>) -> tensor<3x101x{1}> attributes {{nn.family = "
                              "\"elementwise\"}} {{\n"
                              "  %y = nn.lookup %x {{values = array<i64: {2}>, to = {1}}} : (tensor<3x101x{0}>) -> "
                              "tensor<3x101x{1}>\n  return %y : tensor<3x101x{1}>\n}}",
                              from, to, values),
                  {bytes(type, {3, 101})});
    }
}

TEST_F(Quantize, reciprocals) {
  expectExact("func.func @k(%x: tensor<7x19xi32>) -> (tensor<7x19xi32>, tensor<7x19xi32>) attributes {nn.family = "
              "\"elementwise\"} {\n"
              "  %y = nn.fixed_reciprocal %x : (tensor<7x19xi32>) -> tensor<7x19xi32>\n"
              "  %z = nn.count_leading_zeros %x : (tensor<7x19xi32>) -> tensor<7x19xi32>\n"
              "  return %y, %z : tensor<7x19xi32>, tensor<7x19xi32>\n}",
              {sums({7, 19})});
}

/// A convolution of bytes with all operators that follow its sums; each operand blocked or not.
TEST_F(Quantize, convolutionsRequantiseTheirSums) {
  for (int i = 0; i < 40; ++i) {
    int64_t group = random() % 3 == 0 ? 1 : upTo(40), each = group == 1 ? upTo(40) : random() % 2 ? 1 : upTo(5);
    int64_t in = group == 1 ? upTo(40) : random() % 2 ? 1 : upTo(3), outputs = group * each, channels = group * in;
    int64_t kernel = upTo(3), height = kernel + upTo(6), width = kernel + upTo(20), pad = random() % 2 ? kernel / 2 : 0;
    int64_t outHeight = height + 2 * pad - kernel + 1, outWidth = width + 2 * pad - kernel + 1;
    const char *type = random() % 2 ? "i8" : "ui8";
    int64_t block = target.channelBlock(ElementType::i8);
    auto image = [&](int64_t c, int64_t h, int64_t w, const char *element, bool blocked) {
      std::string layout = blocked ? fmt::format(", #nn.blocked<1, {}>", block) : "";
      return fmt::format("tensor<2x{}x{}x{}x{}{}>", c, h, w, element, layout);
    };
    bool blockedOut = random() % 2;
    std::string x = image(channels, height, width, type, random() % 2);
    std::string y = image(outputs, outHeight, outWidth, "i32", blockedOut);
    std::string z = image(outputs, outHeight, outWidth, type, blockedOut);
    std::string weights = fmt::format("tensor<{}x{}x{}x{}xi8>", outputs, in, kernel, kernel);
    std::string scale = fmt::format("tensor<{}x1x1xi32>", outputs);
    std::string text = fmt::format(
        "func.func @k(%x: {0}, %w: {1} {{nn.constant}}, %zero: tensor<{2}>, %b: {3} {{nn.constant}}, %m: {3} "
        "{{nn.constant}}, %s: {3} {{nn.constant}}) -> {4} attributes {{nn.family = \"contraction\"}} {{\n"
        "  %0 = nn.conv_integer %x, %w, %zero {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = "
        "array<i64: {5}, {5}, {5}, {5}>, group = {6} : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0>}} : ({0}, "
        "{1}, "
        "tensor<{2}>) -> {7}\n"
        "  %1 = nn.add %0, %b : ({7}, {3}) -> {7}\n"
        "  %2 = nn.requantize %1, %m, %s {{to = {2}, zero_point = 5 : i64, min = 5 : i64, rounding = \"{8}\"}} : ({7}, "
        "{3}, {3}) -> {4}\n  return %2 : {4}\n}}",
        x, weights, type, scale, z, pad, group, y, random() % 2 ? "double" : "single");
    ElementType element = type[0] == 'u' ? ElementType::u8 : ElementType::i8;
    Tensor bias = sums({outputs, 1, 1}), factors = sums({outputs, 1, 1}), by = shifts({outputs, 1, 1}, 1);
    for (int64_t c = 0; c < outputs; ++c) { // results of all magnitudes
      bias.as<int32_t>()[c] >>= 12;
      factors.as<int32_t>()[c] = static_cast<int32_t>((int64_t(1) << 30) + static_cast<int64_t>(random() >> 34));
      by.as<int32_t>()[c] = -static_cast<int32_t>(random() % 16);
    }
    expectExact(text, {bytes(element, {2, channels, height, width}),
                       bytes(ElementType::i8, {outputs, in, kernel, kernel}), bytes(element, {}), bias, factors, by});
  }
}

/// Depthwise kernels of all widths and strides, whose columns may be joined to one product.
TEST_F(Quantize, depthwiseConvolutionsOfBlocks) {
  for (int i = 0; i < 40; ++i) {
    int64_t channels = upTo(40), tall = upTo(3), wide = upTo(7), down = upTo(2), across = upTo(3);
    int64_t top = upTo(tall) - 1, left = upTo(wide) - 1, bottom = upTo(tall) - 1, right = upTo(wide) - 1;
    int64_t height = tall + upTo(4), width = wide + upTo(40);
    int64_t outHeight = (height + top + bottom - tall) / down + 1,
            outWidth = (width + left + right - wide) / across + 1;
    const char *type = random() % 2 ? "i8" : "ui8";
    int64_t block = target.channelBlock(ElementType::i8);
    std::string x = fmt::format("tensor<2x{}x{}x{}x{}, #nn.blocked<1, {}>>", channels, height, width, type, block);
    std::string y = fmt::format("tensor<2x{}x{}x{}xi32, #nn.blocked<1, {}>>", channels, outHeight, outWidth, block);
    std::string w = fmt::format("tensor<{}x1x{}x{}xi8>", channels, tall, wide);
    bool zero = random() % 3 != 0;
    std::string text = fmt::format(
        "func.func @k(%x: {0}, %w: {1} {{nn.constant}}, %zero: tensor<{2}>) -> {3} attributes {{nn.family = "
        "\"contraction\"}} {{\n"
        "  %0 = nn.conv_integer %x, %w{4} {{strides = array<i64: {5}, {6}>, dilations = array<i64: 1, 1>, pads = "
        "array<i64: {7}, {8}, {9}, {10}>, group = {11} : i64, operandSegmentSizes = array<i32: 1, 1, {12}, 0>}} : "
        "({0}, "
        "{1}{13}) -> {3}\n  return %0 : {3}\n}}",
        x, w, type, y, zero ? ", %zero" : "", down, across, top, left, bottom, right, channels, zero ? 1 : 0,
        zero ? fmt::format(", tensor<{}>", type) : "");
    ElementType element = type[0] == 'u' ? ElementType::u8 : ElementType::i8;
    expectExact(text, {bytes(element, {2, channels, height, width}), bytes(ElementType::i8, {channels, 1, tall, wide}),
                       bytes(element, {})});
  }
}

TEST_F(Quantize, productsRequantiseTheirSums) {
  for (int i = 0; i < 12; ++i) {
    int64_t m = upTo(20), k = upTo(90), n = upTo(70);
    std::string text = fmt::format(
        "func.func @k(%x: tensor<{0}x{1}xi8>, %w: tensor<{1}x{2}xi8> {{nn.constant}}, %zero: tensor<i8>, %b: "
        "tensor<{2}xi32> {{nn.constant}}, %m: tensor<{2}xi32> {{nn.constant}}, %s: tensor<{2}xi32> {{nn.constant}}) -> "
        "tensor<{0}x{2}xi8> attributes {{nn.family = \"contraction\"}} {{\n"
        "  %0 = nn.matmul_integer %x, %w, %zero {{operandSegmentSizes = array<i32: 1, 1, 1, 0>}} : "
        "(tensor<{0}x{1}xi8>, "
        "tensor<{1}x{2}xi8>, tensor<i8>) -> tensor<{0}x{2}xi32>\n"
        "  %1 = nn.add %0, %b : (tensor<{0}x{2}xi32>, tensor<{2}xi32>) -> tensor<{0}x{2}xi32>\n"
        "  %2 = nn.requantize %1, %m, %s {{to = i8, zero_point = -3 : i64}} : (tensor<{0}x{2}xi32>, tensor<{2}xi32>, "
        "tensor<{2}xi32>) -> tensor<{0}x{2}xi8>\n  return %2 : tensor<{0}x{2}xi8>\n}}",
        m, k, n);
    Tensor bias = sums({n}), by = shifts({n}, 1);
    for (int64_t c = 0; c < n; ++c) {
      bias.as<int32_t>()[c] >>= 12;
      by.as<int32_t>()[c] = -static_cast<int32_t>(random() % 16);
    }
    expectExact(text, {bytes(ElementType::i8, {m, k}), bytes(ElementType::i8, {k, n}), bytes(ElementType::i8, {}), bias,
                       sums({n}), by});
  }
}

TEST_F(Quantize, runsAtOtherTargetsToo) {
  if (Target::parse("native").triple.find("x86_64") == std::string::npos)
    GTEST_SKIP() << "not an x86-64 machine";
  for (const char *name : {"x86-64-v3", "x86-64-v2"}) {
    target = Target::parse(name);
    for (const char *rounding : {"double", "single"})
      expectExact(fmt::format("func.func @k(%x: tensor<5x37xi32>, %m: tensor<37xi32>, %s: tensor<37xi32>) -> "
                              "tensor<5x37xi8> attributes {{nn.family = \"elementwise\"}} {{\n"
                              "  %y = nn.requantize %x, %m, %s {{to = i8, rounding = \"{}\"}} : (tensor<5x37xi32>, "
                              "tensor<37xi32>, tensor<37xi32>) -> tensor<5x37xi8>\n  return %y : tensor<5x37xi8>\n}}",
                              rounding),
                  {sums({5, 37}), sums({37}), shifts({37}, 30)});
  }
}

} // namespace
} // namespace lathe
