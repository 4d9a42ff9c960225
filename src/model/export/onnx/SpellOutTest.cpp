// Operators of quantised networks give the same bits on the references after export to ONNX and import.
#include "export/onnx/SpellOut.h"

#include "export/onnx/Export.h"
#include "import/Import.h"
#include "ir/Context.h"
#include "ir/Nn.h"
#include "passes/Passes.h"
#include "passes/interpret/Evaluate.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>

namespace lathe {
namespace {

class SpellOut : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &arguments, const std::string &result,
                                          const std::string &body) {
    std::string text =
        fmt::format("func.func @main({}) -> {} {{\n{}\nreturn %y : {}\n}}", arguments, result, body, result);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module) << text;
    return module;
  }

  /// Expects that the file's graph has none of these operators and gives the same results.
  void expectSame(mlir::ModuleOp module, const std::vector<Value> &inputs) {
    auto again = importOnnxBytes(*context, exportOnnx(module), "again.onnx");
    EXPECT_EQ(onnx::spelledOut(*again).get(), mlir::ModuleOp());
    std::vector<Value> expected = evaluate(module, inputs), found = evaluate(*again, inputs);
    ASSERT_EQ(expected.size(), found.size());
    const Tensor &a = expected[0].tensor(), &b = found[0].tensor();
    ASSERT_EQ(a.type(), b.type());
    ASSERT_EQ(a.dims(), b.dims());
    for (int64_t i = 0; i < a.elements(); ++i)
      ASSERT_EQ(a.asDouble(i), b.asDouble(i)) << "element " << i;
  }
};

/// Sums of all magnitudes, with the limits of the type and halves of powers of two.
template <class T> std::vector<T> sums(size_t count) {
  std::mt19937_64 random(7);
  std::vector<T> values{0, 1, -1, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
  for (int bit = 0; bit < std::numeric_limits<T>::digits; ++bit)
    for (int64_t near : {-1, 0, 1})
      for (int sign : {-1, 1})
        values.push_back(static_cast<T>(sign * ((int64_t(1) << bit) + near)));
  while (values.size() < count)
    values.push_back(
        static_cast<T>(static_cast<int64_t>(random()) >> (64 - std::numeric_limits<T>::digits + random() % 31)));
  values.resize(count);
  return values;
}

TEST_F(SpellOut, RequantizeOfBothRoundingsHasTheSameBits) {
  const std::vector<int32_t> x = sums<int32_t>(4096),
                             multipliers{1073741824, 1999999999, 2147483647, 0, 1242405367, -1500000001},
                             shifts{-31, -8, -1, 0, 1, 30};
  std::vector<int32_t> all;
  for (int32_t value : x)
    all.insert(all.end(), 36, value);
  const std::vector<Value> input{Tensor::of<int32_t>({4096, 36}, all)};
  std::vector<int32_t> m, s;
  for (int32_t multiplier : multipliers)
    for (int32_t shift : shifts) {
      m.push_back(multiplier);
      s.push_back(shift);
    }
  auto list = [](const std::vector<int32_t> &values) { return fmt::format("{}", fmt::join(values, ", ")); };
  for (const char *rounding : {"double", "single"})
    for (const char *to : {"i8, zero_point = -128 : i64", "ui8, zero_point = 3 : i64, max = 200 : i64", "i32", "i16"}) {
      SCOPED_TRACE(fmt::format("{} {}", rounding, to));
      std::string type = std::string(to).substr(0, std::string(to).find(','));
      std::string op =
          fmt::format("%y = nn.requantize %x, %m, %s {{to = {}, rounding = \"{}\"}} : (tensor<4096x36xi32>, "
                      "tensor<36xi32>, tensor<36xi32>) -> tensor<4096x36x{}>",
                      to, rounding, type);
      std::string result = fmt::format("tensor<4096x36x{}>", type);
      auto constant =
          parse("%x: tensor<4096x36xi32>", result,
                fmt::format("%m = nn.constant {{value = dense<[{}]> : tensor<36xi32>}} : tensor<36xi32>\n"
                            "%s = nn.constant {{value = dense<[{}]> : tensor<36xi32>}} : tensor<36xi32>\n{}",
                            list(m), list(s), op));
      expectSame(*constant, input);
      auto open = parse("%x: tensor<4096x36xi32>, %m: tensor<36xi32>, %s: tensor<36xi32>", result, op);
      expectSame(*open, {input[0], Tensor::of<int32_t>({36}, m), Tensor::of<int32_t>({36}, s)});
    }
}

TEST_F(SpellOut, NormsWithALeastValue) {
  for (int p : {1, 2}) {
    auto module = parse("%x: tensor<3x2xf32>", "tensor<3x2xf32>",
                        fmt::format("%y = nn.lp_normalize %x {{axis = 1 : i64, p = {} : i64, epsilon = 0.5 : f64}} : "
                                    "(tensor<3x2xf32>) -> tensor<3x2xf32>",
                                    p));
    expectSame(*module, {Tensor::of<float>({3, 2}, {3, -4, 0, 0.25f, 0, 0})});
  }
}

TEST_F(SpellOut, CeluOfOtherTypesThanFloat) {
  Tensor x = Tensor::of<double>({6}, {-3, -0.5, -0.001, 0, 0.25, 7});
  for (auto [name, type] : {std::pair("f16", ElementType::f16), {"bf16", ElementType::bf16}, {"f64", ElementType::f64}})
    expectSame(*parse(fmt::format("%x: tensor<6x{}>", name), fmt::format("tensor<6x{}>", name),
                      fmt::format("%y = nn.celu %x {{alpha = 2.0 : f64}} : (tensor<6x{0}>) -> tensor<6x{0}>", name)),
               {Value(x.convertedTo(type))});
}

TEST_F(SpellOut, RequantizeOfWideSumsHasTheSameBits) {
  std::vector<int64_t> x = sums<int64_t>(4096);
  for (int64_t &value : x)
    value >>= 16; // sums of products of 16 and 8 bits have 48 bits
  for (int shift : {-31, -8, 0, 14})
    for (int64_t multiplier : {1073741824, 1999999999, 2147483647}) {
      SCOPED_TRACE(fmt::format("{} {}", multiplier, shift));
      auto module = parse("%x: tensor<4096xi64>", "tensor<4096xi16>",
                          fmt::format("%m = nn.constant {{value = dense<{}> : tensor<i32>}} : tensor<i32>\n"
                                      "%s = nn.constant {{value = dense<{}> : tensor<i32>}} : tensor<i32>\n"
                                      "%y = nn.requantize %x, %m, %s {{to = i16, rounding = \"reduced\"}} : "
                                      "(tensor<4096xi64>, tensor<i32>, tensor<i32>) -> tensor<4096xi16>",
                                      multiplier, shift));
      expectSame(*module, {Tensor::of<int64_t>({4096}, x)});
    }
}

TEST_F(SpellOut, TablesHaveTheSameBits) {
  for (const char *type : {"i8", "ui8", "i16"}) {
    SCOPED_TRACE(type);
    bool wide = type == std::string("i16");
    const int64_t count = wide ? 65536 : 256;
    std::vector<int64_t> values;
    for (int64_t i = 0; i < (wide ? 513 : 256); ++i)
      values.push_back((i * 7919 + 13) % (wide ? 65536 : 256) - (wide ? 32768 : 128));
    Tensor x(wide ? ElementType::i16 : type[0] == 'u' ? ElementType::u8 : ElementType::i8, {count});
    for (int64_t i = 0; i < count; ++i)
      if (wide)
        x.as<int16_t>()[i] = static_cast<int16_t>(i);
      else
        x.as<uint8_t>()[i] = static_cast<uint8_t>(i);
    const char *to = wide ? "i16" : "i8";
    auto module =
        parse(fmt::format("%x: tensor<{}x{}>", count, type), fmt::format("tensor<{}x{}>", count, to),
              fmt::format("%y = nn.lookup %x {{to = {}, values = array<i64: {}>}} : (tensor<{}x{}>) -> tensor<{}x{}>",
                          to, fmt::join(values, ", "), count, type, count, to));
    expectSame(*module, {x});
  }
}

TEST_F(SpellOut, ReciprocalsAndLeadingZerosHaveTheSameBits) {
  const std::vector<Value> input{Tensor::of<int32_t>({4096}, sums<int32_t>(4096))};
  for (const char *name : {"count_leading_zeros", "fixed_reciprocal"}) {
    SCOPED_TRACE(name);
    auto module = parse("%x: tensor<4096xi32>", "tensor<4096xi32>",
                        fmt::format("%y = nn.{} %x : (tensor<4096xi32>) -> tensor<4096xi32>", name));
    expectSame(*module, input);
  }
}

/// Padding counts as the zero point, not as zero.
TEST_F(SpellOut, ConvOfBytesBecomesConvInteger) {
  for (const char *type : {"i8", "ui8"}) {
    SCOPED_TRACE(type);
    bool natural = type[0] == 'u';
    auto module = parse(fmt::format("%x: tensor<1x4x6x5x{0}>, %w: tensor<4x1x3x3x{0}>", type), "tensor<1x4x6x5xi32>",
                        fmt::format(R"(%xi = nn.cast %x {{to = i32}} : (tensor<1x4x6x5x{0}>) -> tensor<1x4x6x5xi32>
          %z = nn.constant {{value = dense<{1}> : tensor<i32>}} : tensor<i32>
          %xc = nn.sub %xi, %z : (tensor<1x4x6x5xi32>, tensor<i32>) -> tensor<1x4x6x5xi32>
          %wi = nn.cast %w {{to = i32}} : (tensor<4x1x3x3x{0}>) -> tensor<4x1x3x3xi32>
          %wc = nn.sub %wi, %z : (tensor<4x1x3x3xi32>, tensor<i32>) -> tensor<4x1x3x3xi32>
          %y = nn.conv %xc, %wc {{dilations = array<i64: 1, 1>, group = 4 : i64, pads = array<i64: 1, 1, 1, 1>,
            strides = array<i64: 1, 1>}} : (tensor<1x4x6x5xi32>, tensor<4x1x3x3xi32>) -> tensor<1x4x6x5xi32>)",
                                    type, natural ? 131 : -7));
    std::mt19937 random(3);
    ElementType element = natural ? ElementType::u8 : ElementType::i8;
    Tensor x(element, {1, 4, 6, 5}), w(element, {4, 1, 3, 3});
    for (Tensor *tensor : {&x, &w})
      for (int64_t i = 0; i < tensor->elements(); ++i)
        tensor->as<uint8_t>()[i] = static_cast<uint8_t>(random());
    std::string bytes = exportOnnx(*module);
    EXPECT_NE(bytes.find("ConvInteger"), bytes.npos);
    expectSame(*module, {x, w});
  }
}

/// Integers that include every value of their type.
Tensor anyIntegers(ElementType type, const std::vector<int64_t> &dims, unsigned seed) {
  std::mt19937 random(seed);
  Tensor tensor(type, dims);
  auto *bytes = static_cast<uint8_t *>(tensor.data());
  for (int64_t i = 0; i < tensor.elements() * bitWidth(type) / 8; ++i)
    bytes[i] = static_cast<uint8_t>(random());
  return tensor;
}

/// Sums of 64 bits from the low and the high bytes of x.
TEST_F(SpellOut, ConvOfSixteenBitsBecomesTwoOfBytes) {
  auto module = parse("%x: tensor<1x4x6x5xi16>, %w: tensor<2x4x3x3xi8>", "tensor<1x2x4x3xi64>",
                      R"(%xi = nn.cast %x {to = i64} : (tensor<1x4x6x5xi16>) -> tensor<1x4x6x5xi64>
        %wi = nn.cast %w {to = i64} : (tensor<2x4x3x3xi8>) -> tensor<2x4x3x3xi64>
        %y = nn.conv %xi, %wi {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
          strides = array<i64: 1, 1>} : (tensor<1x4x6x5xi64>, tensor<2x4x3x3xi64>) -> tensor<1x2x4x3xi64>)");
  expectSame(*module, {anyIntegers(ElementType::i16, {1, 4, 6, 5}, 5), anyIntegers(ElementType::i8, {2, 4, 3, 3}, 6)});
}

/// ONNX has ConvTranspose only for floats. The cases pad less and more than the kernel reaches, and leave no zeros
/// between.
TEST_F(SpellOut, ConvTransposeOfIntegersBecomesConvInteger) {
  struct Case {
    const char *type, *sums, *strides, *dilations, *pads, *output;
    int group;
    const char *extents; // of the result
  };
  for (const Case &c : {Case{"i8", "i32", "2, 3", "1, 1", "0, 0, 0, 0", "0, 0", 1, "11x12"},
                        Case{"ui8", "i32", "2, 1", "1, 2", "1, 1, 0, 2", "1, 0", 2, "11x5"},
                        Case{"i8", "i32", "1, 1", "1, 1", "3, 0, 2, 4", "0, 0", 1, "2x2"},
                        Case{"i16", "i64", "3, 2", "1, 1", "0, 1, 1, 0", "0, 1", 1, "14x9"}}) {
    for (bool open : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {} {}", c.type, c.strides, open));
      std::string x = open ? "?x4x?x?x" : "1x4x5x4x", w = fmt::format("4x{}x3x3x", 2 / c.group);
      std::string y = open ? "?x2x?x?x" : fmt::format("1x2x{}x", c.extents), kernel = c.type[0] == 'u' ? "ui8" : "i8";
      int zero = c.type == std::string("i16") ? 0 : c.type[0] == 'u' ? 131 : -7;
      std::string dims = open ? " {nn.dims = [\"N\", \"4\", \"H\", \"W\"]}" : "";
      auto module =
          parse(fmt::format("%x: tensor<{}{}>{}, %w: tensor<{}{}>", x, c.type, dims, w, kernel),
                fmt::format("tensor<{}{}>", y, c.sums),
                fmt::format(R"(%xi = nn.cast %x {{to = {0}}} : (tensor<{1}{2}>) -> tensor<{1}{0}>
          %z = nn.constant {{value = dense<{3}> : tensor<{0}>}} : tensor<{0}>
          %xc = nn.sub %xi, %z : (tensor<{1}{0}>, tensor<{0}>) -> tensor<{1}{0}>
          %wc = nn.cast %w {{to = {0}}} : (tensor<{4}{5}>) -> tensor<{4}{0}>
          %y = nn.conv_transpose {12}, %wc {{dilations = array<i64: {6}>, group = {7} : i64, pads = array<i64: {8}>,
            strides = array<i64: {9}>, output_padding = array<i64: {10}>}} : (tensor<{1}{0}>, tensor<{4}{0}>)
            -> tensor<{11}{0}>)",
                            c.sums, x, c.type, zero, w, kernel, c.dilations, c.group, c.pads, c.strides, c.output, y,
                            zero ? "%xc" : "%xi")); // importers do not subtract a zero of 0
      std::string bytes = exportOnnx(*module);
      EXPECT_NE(bytes.find("ConvInteger"), bytes.npos);
      EXPECT_EQ(bytes.find("ConvTranspose"), bytes.npos);
      auto element = [](const std::string &name) {
        return name == "ui8" ? ElementType::u8 : name == "i8" ? ElementType::i8 : ElementType::i16;
      };
      expectSame(*module, {anyIntegers(element(c.type), {1, 4, 5, 4}, 8),
                           anyIntegers(element(kernel), {4, 2 / c.group, 3, 3}, 9)});
    }
  }
}

/// Scales of rows must not be written where ONNX Runtime expects one scale for all rows.
TEST_F(SpellOut, ScalesOfRowsAreNoProductBehindAnIntegerProduct) {
  for (const char *rows : {"3x1", "1"}) {
    auto module =
        parse(fmt::format("%x: tensor<3x4xi8>, %w: tensor<4x2xi8>, %s: tensor<{}xf32>", rows), "tensor<3x2xf32>",
              fmt::format(R"(%p = nn.matmul_integer %x, %w {{operandSegmentSizes = array<i32: 1, 1, 0, 0>}} :
            (tensor<3x4xi8>, tensor<4x2xi8>) -> tensor<3x2xi32>
          %f = nn.cast %p {{to = f32}} : (tensor<3x2xi32>) -> tensor<3x2xf32>
          %c = nn.constant {{value = dense<0.125> : tensor<f32>}} : tensor<f32>
          %t = nn.mul %s, %c : (tensor<{0}xf32>, tensor<f32>) -> tensor<{0}xf32>
          %y = nn.mul %f, %t : (tensor<3x2xf32>, tensor<{0}xf32>) -> tensor<3x2xf32>)",
                          rows));
    std::string bytes = exportOnnx(*module);
    EXPECT_EQ(bytes.find("Sum") != bytes.npos, rows == std::string("3x1")) << rows;
  }
}

/// Sums of other types cannot be written: the error names the node, and the check finds it without writing.
TEST_F(SpellOut, ConvOfWideIntegersIsAnErrorWithItsNode) {
  auto module = parse("%x: tensor<1x1x4x4xi64>, %w: tensor<1x1x3x3xi64>", "tensor<1x1x2x2xi64>",
                      R"(%y = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
                        strides = array<i64: 1, 1>} : (tensor<1x1x4x4xi64>, tensor<1x1x3x3xi64>)
                        -> tensor<1x1x2x2xi64> loc("conv7"))");
  try {
    requireOnnxForm(*module, "wide.mlir");
    FAIL() << "no error";
  } catch (const Error &error) {
    std::string text = error.what();
    EXPECT_EQ(text.find("wide.mlir: "), 0U) << text;
    EXPECT_NE(text.find("conv7"), text.npos) << text;
    EXPECT_NE(text.find("nn.conv of i64 has no form in ONNX"), text.npos) << text;
  }
}

} // namespace
} // namespace lathe
