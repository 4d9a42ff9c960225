// Kernels with channels last, compared with the references: other tests draw these kernels in blocks, here they have
// one block of all channels.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomContractions.h"
#include "codegen/testing/RandomKernels.h"

#include <gtest/gtest.h>

#include <regex>

namespace lathe {
namespace {

/// `text` with one block of all channels in every layout of blocks that allows it. `changed`: a value has more channels
/// than a vector.
std::string withChannelsLast(const std::string &text, int64_t lanes, bool &changed) {
  static const std::regex blocked("(tensor<[^x>]+x)([0-9]+)(x[^,>]+, #nn.blocked<1, )([0-9]+)>");
  std::string result;
  auto at = text.cbegin();
  for (std::sregex_iterator match(text.begin(), text.end(), blocked), none; match != none; ++match) {
    int64_t channels = std::stoll(match->str(2)), filled = (channels + lanes - 1) / lanes * lanes;
    bool known = std::stoll(match->str(4)) == lanes;
    result.append(at, (*match)[0].first);
    result += match->str(1) + match->str(2) + match->str(3) + (known ? std::to_string(filled) : match->str(4)) + ">";
    changed |= known && channels > lanes;
    at = (*match)[0].second;
  }
  return result.append(at, text.cend());
}

/// "" or the difference between a contraction with `schedule` (empty: the prior's) and its references, if it is more
/// than rounding (see toleranceOf in contraction/ContractionTest.cpp), relative to the largest sum of magnitudes.
std::string checkSums(const std::string &text, const KernelText &drawn, const Target &target, uint64_t seed,
                      const std::string &schedule) {
  KernelUnderTest kernel(text, target, seed);
  if (std::string reason = kernel.declined(schedule); !reason.empty())
    return reason;
  std::vector<Tensor> inputs = kernel.randomInputs(-1, 1, drawn.symbols), got = kernel.run(inputs, schedule);
  std::vector<Tensor> expected = kernel.expected(inputs);
  double magnitude = kernel.largestSum(inputs) + 1; // a bias is at most 1
  Schedule used = schedule.empty() ? *priorSchedule(kernel.problem()) : Schedule::parse(schedule);
  double tolerance = used.algorithm == "winograd" || used.algorithm == "separable" ? 1e-5 : 1e-6;
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::string what = difference(got[i], expected[i], tolerance, magnitude); !what.empty())
      return fmt::format("'{}', result {}: {}", used.str(), i, what);
  return "";
}

struct ChannelsLast : testing::Test {
  Target target = testTarget();
  int64_t lanes = testTarget().channelBlock();

  std::string tensor(const std::vector<int64_t> &dims, const std::string &type = "f32") {
    std::string text = "tensor<";
    for (int64_t extent : dims)
      text += std::to_string(extent) + "x";
    return fmt::format("{}{}, #nn.blocked<1, {}>>", text, type, (dims[1] + lanes - 1) / lanes * lanes);
  }
  /// Checks one operator `body` of `%x`, a tensor of type `x`.
  void expectRight(const std::string &family, const std::string &x, const std::string &y, const std::string &body,
                   uint64_t seed) {
    std::string text = fmt::format("func.func @k(%x: {0}) -> {1} attributes {{nn.family = \"{2}\"}} {{\n"
                                   "  %y = nn.{3} : ({0}) -> {1}\n  return %y : {1}\n}}",
                                   x, y, family, body);
    EXPECT_EQ(checkKernel(text, target, seed, 1e-5), "") << text;
  }
};

TEST_F(ChannelsLast, contractions) {
  int ran = 0;
  for (uint64_t seed : randomSeeds(40))
    for (int kind = 0; kind < 5; ++kind) {
      Random random(seed * 5 + static_cast<uint64_t>(kind));
      KernelText drawn = kind < 4 ? randomConv(random, target, Grouping(kind)) : randomSeparable(random, target);
      bool changed = false;
      std::string text = withChannelsLast(drawn.str(), lanes, changed);
      if (!changed)
        continue;
      EXPECT_EQ(checkSums(text, drawn, target, seed, ""), "") << "seed " << seed << "\n" << text;
      ++ran;
    }
  EXPECT_GT(ran, 60);
}

TEST_F(ChannelsLast, integers) {
  int ran = 0;
  for (uint64_t seed : randomSeeds(40)) {
    Random random(seed);
    KernelText drawn = randomConvInteger(random, lanes);
    bool changed = false;
    std::string text = withChannelsLast(drawn.str(), lanes, changed);
    if (!changed)
      continue;
    EXPECT_EQ(checkKernel(text, target, seed, 1e-6, -100, 100, "", drawn.symbols), "") << "seed " << seed << "\n"
                                                                                       << text;
    ++ran;
  }
  EXPECT_GT(ran, 5);
}

/// All legal schedules are right, not only the prior's.
TEST_F(ChannelsLast, anySchedule) {
  int ran = 0;
  for (uint64_t seed : randomSeeds(30))
    for (int kind = 0; kind < 4; ++kind) {
      Random random(seed * 4 + static_cast<uint64_t>(kind) + 1000);
      KernelText drawn = randomConv(random, target, Grouping(kind));
      bool changed = false;
      std::string text = withChannelsLast(drawn.str(), lanes, changed);
      KernelUnderTest kernel(text, target, seed);
      Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(kernel.problem());
      ASSERT_TRUE(facts.done()) << facts.reason() << "\n" << text;
      std::string algorithm = kind == 2 ? "lanewise" : kind == 3 ? "winograd" : "direct";
      std::map<std::string, std::string> exact;
      if (algorithm != "lanewise")
        exact["type"] = "f32";
      std::string schedule = randomSchedule(random, **facts, algorithm, exact).str();
      if (!changed || !kernel.declined(schedule).empty())
        continue;
      EXPECT_EQ(checkSums(text, drawn, target, seed, schedule), "") << "seed " << seed << ", " << schedule << "\n"
                                                                    << text;
      ++ran;
    }
  EXPECT_GT(ran, 10);
}

TEST_F(ChannelsLast, otherFamilies) {
  std::map<std::string, int> ran;
  for (uint64_t seed : randomSeeds(60))
    for (const char *family : {"pool", "lrn", "resize", "indexed", "movement"}) {
      Random random(seed);
      bool changed = false;
      std::string text = withChannelsLast(randomKernel(random, family, target), lanes, changed);
      if (!changed)
        continue;
      bool regions = text.find("roi_align") != text.npos; // of image 0
      std::string what = checkKernel(text, target, seed, 1e-5, regions ? 0 : -2, regions ? 0.4 : 2);
      if (what.find("window of more channels") != what.npos || what.find("bins") != what.npos)
        continue; // declined in blocks, too
      EXPECT_EQ(what, "") << "seed " << seed << "\n" << text;
      ++ran[family];
    }
  for (const char *family : {"pool", "lrn", "resize", "indexed", "movement"})
    EXPECT_GT(ran[family], 3) << family;
}

TEST_F(ChannelsLast, elementwise) {
  for (uint64_t seed : randomSeeds(30)) {
    Random random(seed);
    std::vector<int64_t> dims{random.in(1, 3), random.in(1, 70), random.in(1, 9), random.in(1, 9)};
    std::string x = tensor(dims), c = fmt::format("tensor<1x{}x1x1xf32>", dims[1]),
                r = random.chance(2) ? x : fmt::format("tensor<{}x1x1x{}xf32>", dims[0], dims[3]);
    std::string text =
        fmt::format("func.func @k(%x: {0}, %c: {1}, %r: {2}) -> {0} attributes {{nn.family = \"elementwise\"}} {{\n"
                    "  %m = nn.mul %x, %c : ({0}, {1}) -> {0}\n  %s = nn.add %m, %r : ({0}, {2}) -> {0}\n"
                    "  %y = nn.relu %s : ({0}) -> {0}\n  return %y : {0}\n}}",
                    x, c, r);
    EXPECT_EQ(checkKernel(text, target, seed, 1e-6), "") << "seed " << seed << "\n" << text;
  }
}

TEST_F(ChannelsLast, reductions) {
  for (uint64_t seed : randomSeeds(30)) {
    Random random(seed);
    std::vector<int64_t> dims{random.in(1, 3), random.in(1, 70), random.in(1, 9), random.in(1, 9)}, out = dims;
    bool both = random.chance(2);
    out[2] = both ? 1 : dims[2];
    out[3] = 1;
    std::string y = random.chance(2) ? tensor(out) : fmt::format("tensor<{}x{}x{}x1xf32>", out[0], out[1], out[2]);
    expectRight("reduction", tensor(dims), y,
                fmt::format("reduce_mean %x {{axes = array<i64: {}3>, keepdims = true}}", both ? "2, " : ""), seed);
  }
}

TEST_F(ChannelsLast, partsOfChannels) {
  for (uint64_t seed : randomSeeds(40)) {
    Random random(seed);
    const char *type = random.of({"f32", "i8", "f64"});
    int64_t n = random.in(1, 2), h = random.in(1, 7), w = random.in(1, 7), a = random.in(1, 50), b = random.in(1, 50);
    lanes = target.channelBlock(std::string(type) == "f64" ? ElementType::f64 : ElementType::f32);
    std::string whole = tensor({n, a + b, h, w}, type), x = tensor({n, a, h, w}, type), y = tensor({n, b, h, w}, type);
    std::string concat =
        fmt::format("func.func @k(%x: {0}, %y: {1}) -> {2} attributes {{nn.family = \"movement\"}} {{\n"
                    "  %z = nn.concat %x, %y {{axis = 1 : i64}} : ({0}, {1}) -> {2}\n  return %z : {2}\n}}",
                    x, y, whole);
    EXPECT_EQ(checkKernel(concat, target, seed, 0, -100, 100), "") << "seed " << seed << "\n" << concat;
    std::string split =
        fmt::format("func.func @k(%x: {2}) -> ({0}, {1}) attributes {{nn.family = \"movement\"}} {{\n"
                    "  %a, %b = nn.split %x {{axis = 1 : i64, sizes = array<i64: {3}, {4}>}} : ({2}) -> ({0}, {1})\n"
                    "  return %a, %b : {0}, {1}\n}}",
                    x, y, whole, a, b);
    EXPECT_EQ(checkKernel(split, target, seed, 0, -100, 100), "") << "seed " << seed << "\n" << split;
    std::string padded =
        fmt::format("func.func @k(%x: {0}) -> {1} attributes {{nn.family = \"movement\"}} {{\n"
                    "  %y = nn.pad %x {{mode = \"{2}\", pads = array<i64: 0, 0, 1, 0, 0, 0, 0, 2>, "
                    "operandSegmentSizes = array<i32: 1, 0, 0>}} : ({0}) -> {1}\n  return %y : {1}\n}}",
                    x, tensor({n, a, h + 1, w + 2}, type), random.of({"constant", "edge"}));
    EXPECT_EQ(checkKernel(padded, target, seed, 0, -100, 100), "") << "seed " << seed << "\n" << padded;
    std::string rows = fmt::format("tensor<{}x{}x{}x{}x{}>", n, h, w, a, type);
    std::string turned =
        fmt::format("func.func @k(%x: {0}) -> {1} attributes {{nn.family = \"movement\"}} {{\n"
                    "  %y = nn.transpose %x {{perm = array<i64: 0, 2, 3, 1>}} : ({0}) -> {1}\n  return %y : {1}\n}}",
                    x, rows);
    EXPECT_EQ(checkKernel(turned, target, seed, 0, -100, 100), "") << "seed " << seed << "\n" << turned;
  }
}

} // namespace
} // namespace lathe
