// Element-wise kernels against the references: every operator, random broadcasting, layouts and types.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomTesting.h"
#include "ops/Registry.h"

#include <cmath>
#include <gtest/gtest.h>

namespace lathe {
namespace {

class Map : public testing::Test {
protected:
  Target target = testTarget();
  int64_t block = target.channelBlock();

  std::string blocked(const std::string &shape, const std::string &type = "f32") {
    return fmt::format("tensor<{}x{}, #nn.blocked<1, {}>>", shape, type, block);
  }
  void expectRight(const std::string &text, uint64_t seed, double tolerance, double lo = -2, double hi = 2,
                   const std::map<std::string, int64_t> &symbols = {}, const std::string &schedule = "") {
    EXPECT_EQ(checkKernel(text, target, seed, tolerance, lo, hi, schedule, symbols), "") << "seed " << seed;
  }
};

/// Operators with operands of one shape and type, by kind.
struct Case {
  const char *op, *attributes;
  double lo, hi;
};

TEST_F(Map, everyUnaryOperator) {
  const Case cases[] = {{"relu", "", -2, 2},
                        {"leaky_relu", "{alpha = 0.2}", -2, 2},
                        {"elu", "{alpha = 1.5}", -3, 3},
                        {"selu", "", -3, 3},
                        {"celu", "{alpha = 0.7}", -3, 3},
                        {"thresholded_relu", "{alpha = 0.5}", -2, 2},
                        {"sigmoid", "", -9, 9},
                        {"tanh", "", -4, 4},
                        {"exp", "", -9, 9},
                        {"log", "", 0.01, 9},
                        {"sqrt", "", 0, 9},
                        {"neg", "", -2, 2},
                        {"abs", "", -2, 2},
                        {"floor", "", -5, 5},
                        {"ceil", "", -5, 5},
                        {"round", "", -5, 5},
                        {"erf", "", -3, 3},
                        {"reciprocal", "", 0.1, 5},
                        {"sign", "", -1, 1},
                        {"softplus", "", -30, 30},
                        {"softsign", "", -5, 5},
                        {"hard_sigmoid", "{alpha = 0.3}", -5, 5},
                        {"hard_swish", "", -5, 5},
                        {"mish", "", -30, 30},
                        {"gelu", "", -4, 4},
                        {"gelu", "{approximate = \"tanh\"}", -4, 4},
                        {"sin", "", -20, 20},
                        {"cos", "", -20, 20},
                        {"atan", "", -9, 9},
                        {"clip", "{min = -0.5, max = 0.75}", -2, 2},
                        {"tan", "", -1.5, 1.5},
                        {"asin", "", -1, 1},
                        {"acos", "", -1, 1},
                        {"sinh", "", -20, 20},
                        {"sinh", "", -0.1, 0.1},
                        {"cosh", "", -20, 20},
                        {"asinh", "", -9, 9},
                        {"acosh", "", 0.5, 9},
                        {"atanh", "", -0.9, 0.9},
                        {"swish", "{alpha = 1.5}", -9, 9}};
  uint64_t seed = 1;
  for (const Case &c : cases)
    for (std::string type : {"tensor<3x37xf32>", "tensor<2x19x3x5xf32>"}) {
      if (type.find("19") != std::string::npos)
        type = blocked("2x19x3x5");
      std::string attributes = c.attributes;
      if (std::string(c.op) == "clip")
        attributes = "{operandSegmentSizes = array<i32: 1, 0, 0>, " + attributes.substr(1);
      expectRight(fmt::format("func.func @k(%x: {0}) -> {0} attributes {{nn.family = \"elementwise\"}} {{\n"
                              "  %y = nn.{1} %x {2} : ({0}) -> {0}\n  return %y : {0}\n}}",
                              type, c.op, attributes),
                  seed++, 3e-7, c.lo, c.hi);
    }
}

/// All operators of the registry that have one operand and are not listed above, with default attributes.
TEST_F(Map, everyUnaryOperatorOfTheRegistry) {
  uint64_t seed = 50;
  for (const OpRecord &record : opRecords()) {
    if (std::string_view(record.lowering) != "elementwise" || record.operands.size() != 1)
      continue;
    TensorInfo x{ElementType::f32, {3, 37}, std::nullopt};
    try {
      if (record.infer(*record.makeAttrs(), {&x}).at(0).type != ElementType::f32)
        continue; // a predicate
    } catch (const Error &) {
      continue; // not for floats, or an attribute without a default
    }
    for (std::string type : {std::string("tensor<3x37xf32>"), blocked("2x19x3x5")})
      expectRight(fmt::format("func.func @k(%x: {0}) -> {0} attributes {{nn.family = \"elementwise\"}} {{\n"
                              "  %y = nn.{1} %x : ({0}) -> {0}\n  return %y : {0}\n}}",
                              type, record.name),
                  seed++, 3e-7, 0.1, 3);
  }
}

TEST_F(Map, everyBinaryOperator) {
  struct Binary {
    const char *op, *result;
    bool numbers = true;
  };
  uint64_t seed = 100;
  for (const Binary &c : {Binary{"add", ""},
                          {"sub", ""},
                          {"mul", ""},
                          {"div", ""},
                          {"max", ""},
                          {"min", ""},
                          {"prelu", ""},
                          {"equal", "i1"},
                          {"less", "i1"},
                          {"less_equal", "i1"},
                          {"greater", "i1"},
                          {"greater_equal", "i1"}})
    for (const char *type : {"f32", "f64", "i32", "i64", "i8", "ui8", "f16", "bf16"}) {
      std::string result = *c.result ? c.result : type;
      bool half = std::string(type) == "f16" || std::string(type) == "bf16";
      bool division = std::string(c.op) == "div";
      expectRight(fmt::format("func.func @k(%a: tensor<3x37x{0}>, %b: tensor<3x37x{0}>) -> tensor<3x37x{1}> attributes "
                              "{{nn.family = \"elementwise\"}} {{\n"
                              "  %y = nn.{2} %a, %b : (tensor<3x37x{0}>, tensor<3x37x{0}>) -> tensor<3x37x{1}>\n  "
                              "return %y : tensor<3x37x{1}>\n}}",
                              type, result, c.op),
                  seed++, half ? 8e-3 : 2e-7, division ? 1 : -5, 5);
    }
  for (const char *op : {"and", "or", "xor"})
    expectRight(fmt::format("func.func @k(%a: tensor<3x37xi1>, %b: tensor<37xi1>) -> tensor<3x37xi1> attributes "
                            "{{nn.family = \"elementwise\"}} {{\n"
                            "  %y = nn.{} %a, %b : (tensor<3x37xi1>, tensor<37xi1>) -> tensor<3x37xi1>\n  return %y : "
                            "tensor<3x37xi1>\n}}",
                            op),
                seed++, 0);
  for (const char *attributes : {"", "{fmod = true}"})
    for (const char *type : {"i32", "i64", "ui8"})
      expectRight(
          fmt::format("func.func @k(%a: tensor<37x{0}>, %b: tensor<37x{0}>) -> tensor<37x{0}> attributes {{nn.family = "
                      "\"elementwise\"}} {{\n"
                      "  %one = nn.constant {{value = dense<1> : tensor<1x{0}>}} : tensor<1x{0}>\n"
                      "  %twice = nn.add %b, %b : (tensor<37x{0}>, tensor<37x{0}>) -> tensor<37x{0}>\n" // odd: no zeros
                      "  %d = nn.add %twice, %one : (tensor<37x{0}>, tensor<1x{0}>) -> tensor<37x{0}>\n"
                      "  %y = nn.mod %a, %d {1} : (tensor<37x{0}>, tensor<37x{0}>) -> tensor<37x{0}>\n  return %y : "
                      "tensor<37x{0}>\n}}",
                      type, attributes),
          seed++, 0, -50, std::string(type) == "ui8" ? 50 : 6);
  for (const char *op : {"bitwise_and", "bitwise_or", "bitwise_xor", "bit_shift", "bit_shift {direction = \"RIGHT\"}"})
    for (const char *type : {"i8", "i32", "i64", "ui8", "ui16", "ui32", "ui64"}) {
      std::string name(op), attributes = name.find(' ') == std::string::npos ? "" : name.substr(name.find(' '));
      bool shift = name.starts_with("bit_shift");
      if (shift && type[0] != 'u')
        continue;
      expectRight(
          fmt::format(
              "func.func @k(%a: tensor<3x37x{0}>, %b: tensor<3x37x{0}>) -> tensor<3x37x{0}> attributes {{nn.family = "
              "\"elementwise\"}} {{\n"
              "  %y = nn.{1} %a, %b {2} : (tensor<3x37x{0}>, tensor<3x37x{0}>) -> tensor<3x37x{0}>\n"
              "  %z = nn.bitwise_not %y : (tensor<3x37x{0}>) -> tensor<3x37x{0}>\n  return %z : tensor<3x37x{0}>\n}}",
              type, name.substr(0, name.find(' ')), attributes),
          seed++, 0, shift ? 0 : -100, 100);
    }
  for (double lo : {0.1, -3.0})
    expectRight("func.func @k(%a: tensor<3x37xf32>, %b: tensor<3x37xf32>) -> tensor<3x37xf32> attributes {nn.family = "
                "\"elementwise\"} {\n"
                "  %e = nn.round %b : (tensor<3x37xf32>) -> tensor<3x37xf32>\n"
                "  %y = nn.pow %a, %e : (tensor<3x37xf32>, tensor<3x37xf32>) -> tensor<3x37xf32>\n  return %y : "
                "tensor<3x37xf32>\n}",
                seed++, 2e-7, lo, 3);
}

TEST_F(Map, casts) {
  uint64_t seed = 300;
  const char *types[] = {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "i1"};
  for (const char *from : types)
    for (const char *to : types)
      expectRight(
          fmt::format(
              "func.func @k(%a: tensor<2x45x{0}>) -> tensor<2x45x{1}> attributes {{nn.family = \"elementwise\"}} {{\n"
              "  %y = nn.cast %a {{to = {1}}} : (tensor<2x45x{0}>) -> tensor<2x45x{1}>\n  return %y : "
              "tensor<2x45x{1}>\n}}",
              from, to),
          seed++, 0, std::string(to)[0] == 'u' ? 0 : -90, 90);
}

TEST_F(Map, whereAndMixedTypesWithSeveralResults) {
  expectRight("func.func @k(%a: tensor<5x33xf32>, %b: tensor<33xf32>, %h: tensor<5x33xf16>) -> (tensor<5x33xf32>, "
              "tensor<5x33xi1>, tensor<5x33xi32>) attributes {nn.family = \"elementwise\"} {\n"
              "  %w = nn.cast %h {to = f32} : (tensor<5x33xf16>) -> tensor<5x33xf32>\n"
              "  %c = nn.less %a, %b : (tensor<5x33xf32>, tensor<33xf32>) -> tensor<5x33xi1>\n"
              "  %n = nn.not %c : (tensor<5x33xi1>) -> tensor<5x33xi1>\n"
              "  %y = nn.where %n, %a, %w : (tensor<5x33xi1>, tensor<5x33xf32>, tensor<5x33xf32>) -> tensor<5x33xf32>\n"
              "  %i = nn.cast %y {to = i32} : (tensor<5x33xf32>) -> tensor<5x33xi32>\n"
              "  return %y, %n, %i : tensor<5x33xf32>, tensor<5x33xi1>, tensor<5x33xi32>\n}",
              400, 0, -9, 9);
}

TEST_F(Map, clipWithBoundsAsOperands) {
  expectRight("func.func @k(%x: tensor<5x33xf32>, %lo: tensor<f32>) -> tensor<5x33xf32> attributes {nn.family = "
              "\"elementwise\"} {\n"
              "  %y = nn.clip %x, %lo {operandSegmentSizes = array<i32: 1, 1, 0>, max = 1.0} : (tensor<5x33xf32>, "
              "tensor<f32>) -> tensor<5x33xf32>\n"
              "  return %y : tensor<5x33xf32>\n}",
              410, 0);
}

/// Random broadcasting of three operands, row-major or blocked, the batch symbolic or not.
TEST_F(Map, randomShapes) {
  for (uint64_t seed : randomSeeds(60)) {
    std::mt19937_64 random(seed);
    auto upTo = [&](int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    bool useBlocks = random() % 2;
    size_t rank = useBlocks ? 3 + random() % 3 : 1 + random() % 5;
    bool symbolic = random() % 3 == 0;
    int64_t batch = upTo(4);
    std::vector<int64_t> dims;
    for (size_t i = 0; i < rank; ++i)
      dims.push_back(i == 0 ? batch : i == 1 ? upTo(50) : upTo(i + 1 == rank ? 70 : 6));
    const char *type = std::vector<const char *>{"f32", "f32", "f64", "i32", "i8"}[random() % 5];
    auto text = [&](const std::vector<int64_t> &shape, bool inBlocks) {
      std::string result = "tensor<";
      for (size_t i = 0; i < shape.size(); ++i)
        result += (symbolic && shape.size() == rank && i == 0 && shape[0] != 1 ? std::string("?")
                                                                               : std::to_string(shape[i])) +
                  "x";
      return result + type + (inBlocks ? fmt::format(", #nn.blocked<1, {}>>", block) : ">");
    };
    auto dimsAttribute = [&](const std::vector<int64_t> &shape) {
      if (!(symbolic && shape.size() == rank && shape[0] != 1))
        return std::string();
      std::string list = "\"N\"";
      for (size_t i = 1; i < shape.size(); ++i)
        list += fmt::format(", \"{}\"", shape[i]);
      return " {nn.dims = [" + list + "]}";
    };
    if (symbolic && batch == 1)
      dims[0] = 3;
    // The first operand has the full shape; the others are broadcast at random.
    std::vector<std::string> operands{text(dims, useBlocks)}, attributes{dimsAttribute(dims)};
    for (int i = 0; i < 2; ++i) {
      std::vector<int64_t> shape = dims;
      for (int64_t &extent : shape)
        if (random() % 3 == 0)
          extent = 1;
      bool inBlocks = useBlocks && random() % 2;
      if (!inBlocks)
        shape.erase(shape.begin(), shape.begin() + static_cast<int64_t>(random() % (rank + 1)));
      operands.push_back(text(shape, inBlocks));
      attributes.push_back(dimsAttribute(shape));
    }
    std::string schedule = random() % 2 ? "" : fmt::format("map/2 grain={} interleave={}", upTo(200), upTo(4));
    expectRight(
        fmt::format(
            "func.func @k(%a: {0}{3}, %b: {1}{4}, %c: {2}{5}) -> {0} attributes {{nn.family = \"elementwise\"}} {{\n"
            "  %s = nn.add %a, %b : ({0}, {1}) -> {0}\n  %m = nn.mul %s, %c : ({0}, {2}) -> {0}\n"
            "  %y = nn.relu %m : ({0}) -> {0}\n  return %y : {0}\n}}",
            operands[0], operands[1], operands[2], attributes[0], attributes[1], attributes[2]),
        seed, 2e-7, -2, 2, {{"N", dims[0]}}, schedule);
  }
}

TEST_F(Map, runsAtOtherTargetsToo) {
  // AVX2 code runs wherever the tests do; 128-bit code as well.
  for (const char *name : {"x86-64-v3", "x86-64-v2"}) {
    if (Target::parse("native").triple.find("x86_64") == std::string::npos)
      GTEST_SKIP() << "not an x86-64 machine";
    target = Target::parse(name);
    block = target.channelBlock();
    expectRight(
        fmt::format(
            "func.func @k(%x: {0}, %b: tensor<1x21x1x1xf32>) -> {0} attributes {{nn.family = \"elementwise\"}} {{\n"
            "  %s = nn.add %x, %b : ({0}, tensor<1x21x1x1xf32>) -> {0}\n  %y = nn.sigmoid %s : ({0}) -> {0}\n  return "
            "%y : {0}\n}}",
            blocked("2x21x5x7")),
        77, 3e-7);
  }
}

TEST_F(Map, halvesNeedInstructionsOfTheTarget) {
  std::string text = "func.func @k(%x: tensor<40xf16>) -> tensor<40xf16> attributes {nn.family = \"elementwise\"} {\n"
                     "  %y = nn.exp %x : (tensor<40xf16>) -> tensor<40xf16>\n  return %y : tensor<40xf16>\n}";
  EXPECT_EQ(KernelUnderTest(text, Target::parse("x86-64-v2")).declined(),
            "the target has no conversions of float16 (f16c)");
  EXPECT_EQ(KernelUnderTest(text, Target::parse("x86-64-v3")).declined(), "");
  EXPECT_EQ(KernelUnderTest(text, Target::parse("cortex-a76")).declined(), "");
}

TEST_F(Map, reasonsForDeclining) {
  auto reason = [&](const std::string &text) { return KernelUnderTest(text, target).declined(); };
  EXPECT_EQ(reason("func.func @k(%x: tensor<4xf64>) -> tensor<4xf64> attributes {nn.family = \"elementwise\"} {\n"
                   "  %y = nn.erf %x : (tensor<4xf64>) -> tensor<4xf64>\n  return %y : tensor<4xf64>\n}"),
            "erf in float64");
  EXPECT_EQ(reason("func.func @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {nn.family = \"elementwise\"} {\n"
                   "  %y = nn.transpose %x : (tensor<4x4xf32>) -> tensor<4x4xf32>\n  return %y : tensor<4x4xf32>\n}"),
            "'nn.transpose' has no scalar expression");
}

} // namespace
} // namespace lathe
