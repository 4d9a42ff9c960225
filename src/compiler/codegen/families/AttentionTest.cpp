// Random attention kernels against the reference: extents, masks, views around the operands, symbolic extents,
// schedules, targets.
#include "codegen/space/ContractionFormat.h"
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomKernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

/// A kernel function as it grows. Extents are texts: numbers or symbols.
struct KernelText {
  using Dims = std::vector<std::string>;
  std::string arguments, body, last, type = "f32";
  Dims lastDims;
  double scale = 1; // of the scores
  std::map<std::string, int64_t> symbols;
  int values = 0;

  static bool symbolic(const std::string &extent) { return !std::isdigit(extent[0]); }
  std::string tensor(const Dims &dims, const std::string &element) const {
    std::string text = "tensor<";
    for (const std::string &extent : dims)
      text += (symbolic(extent) ? "?" : extent) + "x";
    return text + element + ">";
  }
  std::string tensor(const Dims &dims) const { return tensor(dims, type); }
  std::string argument(const Dims &dims, const std::string &element) {
    std::string name = "%a" + std::to_string(values++), names;
    bool any = false;
    for (const std::string &extent : dims) {
      any |= symbolic(extent);
      names += (names.empty() ? "\"" : ", \"") + extent + "\"";
    }
    arguments += (arguments.empty() ? "" : ", ") + name + ": " + tensor(dims, element) +
                 (any ? " {nn.dims = [" + names + "]}" : "");
    return name;
  }
  std::string argument(const Dims &dims) { return argument(dims, type); }
  std::string op(const std::string &text, const std::string &operandTypes, const Dims &dims) {
    last = "%v" + std::to_string(values++);
    lastDims = dims;
    body += "  " + last + " = nn." + text + " : (" + operandTypes + ") -> " + tensor(dims) + "\n";
    return last;
  }
  std::string transpose(const std::string &x, const Dims &dims, const std::vector<int> &perm) {
    std::string text;
    Dims result;
    for (int axis : perm) {
      text += (text.empty() ? "" : ", ") + std::to_string(axis);
      result.push_back(dims[axis]);
    }
    return op("transpose " + x + " {perm = array<i64: " + text + ">}", tensor(dims), result);
  }
  std::string reshape(const std::string &x, const Dims &dims, const Dims &to) {
    std::string text;
    for (const std::string &extent : to)
      text += (text.empty() ? "" : ", ") + (symbolic(extent) ? std::string("-1") : extent);
    return op("reshape " + x + " {shape = array<i64: " + text + ">}", tensor(dims), to);
  }
  std::string str() const {
    return "func.func private @k(" + arguments + ") -> " + tensor(lastDims) +
           " attributes {nn.family = \"attention\"} {\n" + body + "  return " + last + " : " + tensor(lastDims) +
           "\n}\n";
  }
};

std::string text(int64_t number) { return std::to_string(number); }

KernelText randomAttention(Random &random, const std::string &element = "f32") {
  KernelText text;
  text.type = element;
  int64_t queries = random.of<int64_t>({1, 2, 7, 14, 15, 29, 49}),
          keys = random.chance(2) ? queries : random.of<int64_t>({1, 3, 16, 33, 49, 77, 150});
  int64_t depth = random.of<int64_t>({1, 8, 16, 20, 32, 64}), width = random.chance(2) ? depth : random.in(1, 70);
  int64_t batch = random.in(1, 3), heads = random.in(1, 4),
          groups = random.chance(4) ? random.of<int64_t>({1, heads}) : heads;
  std::string b = lathe::text(batch), m = lathe::text(queries), n = lathe::text(keys), h = lathe::text(heads),
              g = lathe::text(groups), d = lathe::text(depth), e = lathe::text(width);
  if (random.chance(3)) {
    text.symbols["B"] = batch;
    b = "B";
  } else if (random.chance(3)) { // one unknown extent in a reshape at most
    text.symbols["S"] = queries;
    (queries == keys ? m = n = "S" : m = "S");
  } else if (random.chance(3)) {
    text.symbols["T"] = keys;
    n = "T";
  }
  std::string q, k, v;
  // An operand as a projection gives it, transposed, or in its final shape.
  auto operand = [&](const std::string &rows, const std::string &count, const std::string &lanes) {
    switch (random.in(0, 3)) {
    case 0: { // [B, S, heads * lanes]
      std::string all = std::to_string(std::stoll(count) * std::stoll(lanes));
      std::string x = text.argument({b, rows, all});
      if (KernelText::symbolic(b) && KernelText::symbolic(rows))
        break;
      std::string split = text.reshape(x, {b, rows, all}, {b, rows, count, lanes});
      return text.transpose(split, {b, rows, count, lanes}, {0, 2, 1, 3});
    }
    case 1: // [S, B, heads, lanes]
      return text.transpose(text.argument({rows, b, count, lanes}), {rows, b, count, lanes}, {1, 2, 0, 3});
    case 2: // transposed by its producer
      return text.transpose(text.argument({b, count, lanes, rows}), {b, count, lanes, rows}, {0, 1, 3, 2});
    }
    return text.argument({b, count, rows, lanes});
  };
  if (random.chance(3) && m == n && depth == width && groups == heads && !KernelText::symbolic(m)) {
    // One projection for all three operands, split before or after the heads are separated.
    std::string all = std::to_string(3 * heads * depth), part = std::to_string(heads * depth);
    std::string x = text.argument({b, m, all});
    if (random.chance(2)) {
      auto type = text.tensor({b, m, part});
      text.body += "  %s:3 = nn.split " + x + " {axis = 2 : i64, sizes = array<i64: " + part + ", " + part + ", " +
                   part + ">} : (" + text.tensor({b, m, all}) + ") -> (" + type + ", " + type + ", " + type + ")\n";
      std::string *to[] = {&q, &k, &v};
      for (int i = 0; i < 3; ++i)
        *to[i] = text.transpose(text.reshape("%s#" + std::to_string(i), {b, m, part}, {b, m, h, d}), {b, m, h, d},
                                {0, 2, 1, 3});
    } else {
      std::string apart =
          text.transpose(text.reshape(x, {b, m, all}, {b, m, "3", h, d}), {b, m, "3", h, d}, {2, 0, 3, 1, 4});
      std::string *to[] = {&q, &k, &v};
      for (int i = 0; i < 3; ++i) {
        std::string one = text.op(
            "slice " + apart + " {starts = array<i64: " + std::to_string(i) +
                ">, ends = array<i64: " + std::to_string(i + 1) +
                ">, axes = array<i64: 0>, steps = array<i64: 1>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}",
            text.tensor({"3", b, h, m, d}), {"1", b, h, m, d});
        *to[i] = text.reshape(one, {"1", b, h, m, d}, {b, h, m, d});
      }
    }
  } else {
    q = operand(m, h, d);
    k = operand(n, g, d);
    v = operand(n, g, e);
  }
  std::string operands = q + ", " + k + ", " + v;
  std::string types = text.tensor({b, h, m, d}) + ", " + text.tensor({b, g, n, d}) + ", " + text.tensor({b, g, n, e});
  bool bias = random.chance(3), mask = random.chance(3), boolean = random.chance(2);
  auto shape = [&] {
    return random.of<KernelText::Dims>(
        {{b, h, m, n}, {b, "1", "1", n}, {"1", h, m, n}, {m, n}, {b, "1", m, n}, {"1", "1", m, "1"}});
  };
  if (bias) {
    KernelText::Dims dims = shape();
    operands += ", " + text.argument(dims);
    types += ", " + text.tensor(dims);
  }
  if (mask) {
    KernelText::Dims dims = shape();
    operands += ", " + text.argument(dims, boolean ? "i1" : element);
    types += ", " + text.tensor(dims, boolean ? "i1" : element);
  }
  std::string causal = mask ? "none" : random.of<std::string>({"none", "none", "upper_left", "lower_right"});
  if (causal == "lower_right" && keys < queries)
    causal = "none"; // rows that see nothing are NaN; tested apart
  // A finite fill, because all keys of a row may be masked.
  std::string scale = random.of<std::string>({"0.25", "1.0", "0.3"});
  text.scale = std::stod(scale);
  std::string softcap = random.of<std::string>({"0.0", "0.0", "0.0", "1.5", "30.0"});
  std::string result = text.op("attention " + operands + " {scale = " + scale + " : f64, causal = \"" + causal +
                                   "\", fill = -1.0e+4 : f64, softcap = " + softcap +
                                   " : f64, operandSegmentSizes = array<i32: 1, 1, 1, " + (bias ? "1" : "0") + ", " +
                                   (mask ? "1" : "0") + ">}",
                               types, {b, h, m, e});
  if (random.chance(2)) {
    result = text.transpose(result, {b, h, m, e}, {0, 2, 1, 3});
    if (random.chance(2) && !(KernelText::symbolic(b) && KernelText::symbolic(m)))
      text.reshape(result, {b, m, h, e}, {b, m, std::to_string(heads * width)});
  }
  return text;
}

/// A random schedule of attention, with `words` set.
std::string randomSchedule(Random &random, KernelUnderTest &kernel,
                           const std::map<std::string, std::string> &words = {}) {
  Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(kernel.problem());
  require(facts.done(), "{}", facts ? "" : facts.reason());
  return lathe::randomSchedule(random, **facts, "attention", words).str();
}

bool runsHere(const Target &target) {
  Target native = Target::parse("native");
  return needsEmulator(target) || (native.featureBits & target.featureBits) == target.featureBits;
}

void sweep(const char *targetName, int count, const std::string &element, double tolerance) {
  Target target = Target::parse(targetName);
  if (!runsHere(target))
    GTEST_SKIP() << "this CPU does not run code for " << targetName;
  for (int i = 0; i < count; ++i) {
    uint64_t seed = baseSeed() + i;
    Random random(seed);
    KernelText text = randomAttention(random, element);
    ASSERT_EQ(checkKernel(text.str(), target, seed, tolerance, -2, 2, "", text.symbols), "")
        << targetName << ", LATHE_SEED=" << seed << " reproduces it as the first case\n"
        << text.str();
  }
}

TEST(Attention, priorMatchesReferenceNative) { sweep(testTargetName().c_str(), 80, "f32", 1e-5); }
TEST(Attention, priorMatchesReferenceAvx2) { sweep("x86-64-v3", 25, "f32", 1e-5); }
TEST(Attention, priorMatchesReferenceSse) { sweep("x86-64-v2", 10, "f32", 1e-5); }
TEST(Attention, halves) { sweep(testTargetName().c_str(), 15, "f16", 3e-3); }
TEST(Attention, doubles) { sweep(testTargetName().c_str(), 15, "f64", 1e-12); }

TEST(Attention, everyScheduleMatchesReference) {
  Target target = testTarget();
  int ran = 0;
  for (int i = 0; i < 80; ++i) {
    uint64_t seed = baseSeed() + i;
    Random random(seed);
    KernelText text = randomAttention(random);
    KernelUnderTest kernel(text.str(), target, seed);
    std::string schedule = randomSchedule(random, kernel, {{"type", "f32"}}); // rounded ones are tested apart
    if (!kernel.declined(schedule).empty())
      continue; // with a reason
    ++ran;
    ASSERT_EQ(checkKernel(text.str(), target, seed, 1e-5, -2, 2, schedule, text.symbols), "")
        << "'" << schedule << "', LATHE_SEED=" << seed << "\n"
        << text.str();
  }
  EXPECT_GT(ran, 20) << "nearly every random schedule is declined, LATHE_SEED=" << baseSeed();
}

std::string plain(int64_t queries, int64_t keys, const std::string &attributes, const std::string &mask = "") {
  std::string q = fmt::format("tensor<1x2x{}x16xf32>", queries), k = fmt::format("tensor<1x2x{}x16xf32>", keys);
  return fmt::format(
      "func.func private @k(%q: {0}, %k: {1}, %v: {1}{5}) -> {0} attributes {{nn.family = \"attention\"}} {{\n"
      "  %y = nn.attention %q, %k, %v{6} {{{2}, operandSegmentSizes = array<i32: 1, 1, 1, 0, {3}>}} : ({0}, {1}, "
      "{1}{4}) -> {0}\n"
      "  return %y : {0}\n}}\n",
      q, k, attributes, mask.empty() ? 0 : 1, mask.empty() ? "" : ", " + mask, mask.empty() ? "" : ", %m: " + mask,
      mask.empty() ? "" : ", %m");
}

/// Keys and values are read in place for few queries; with packb=0 for any number of queries.
TEST(Attention, readsKeysAndValuesInPlace) {
  Target target = testTarget();
  for (int64_t queries : {1, 3, 20})
    for (int64_t keys : {1, 15, 16, 130, 600})
      for (const char *kc : {"0", "32", "128"})
        for (const char *causal : {"none", "lower_right"}) {
          std::string text = plain(queries, keys,
                                   fmt::format("scale = 0.25 : f64, causal = \"{}\", "
                                               "zero_masked_rows = true, softcap = 2.0 : f64",
                                               causal));
          std::string schedule = fmt::format("attention/2 mr=2 mc=2 kc={} packb=0", kc);
          EXPECT_EQ(checkKernel(text, target, 1, 1e-5, -2, 2, schedule), "") << queries << " x " << keys << " " << kc;
        }
  KernelUnderTest few(plain(1, 300, "scale = 0.25 : f64"), target, 1);
  EXPECT_EQ(priorSchedule(few.problem())->number("packb"), 0);
  KernelUnderTest many(plain(30, 300, "scale = 0.25 : f64"), target, 1);
  EXPECT_EQ(priorSchedule(many.problem())->number("packb"), 1);
  EXPECT_THAT(
      many.declined("attention/2 packb=0 type=bf16"),
      testing::HasSubstr(formatNamed("bf16", ElementType::f32).obstacle(target).empty() ? "packb" : "avx512bf16"));
}

TEST(Attention, longSequencesComeInBlocks) {
  Target target = testTarget();
  for (const char *causal : {"none", "upper_left"})
    EXPECT_EQ(checkKernel(plain(40, 2100, fmt::format("scale = 0.25 : f64, causal = \"{}\"", causal)), target, 1, 1e-5),
              "")
        << causal;
}

TEST(Attention, rowsThatSeeNothingAreNan) {
  Target target = testTarget();
  for (const char *schedule : {"", "attention/2 mr=4 vectors=2 mc=2 kc=32"}) {
    EXPECT_EQ(checkKernel(plain(50, 45, "causal = \"lower_right\", zero_masked_rows = true"), target, 1, 1e-5, -2, 2,
                          schedule),
              "")
        << schedule;
    EXPECT_EQ(checkKernel(plain(50, 45, "causal = \"lower_right\""), target, 1, 1e-5, -2, 2, schedule), "") << schedule;
    EXPECT_EQ(checkKernel(plain(3, 45, "scale = 1.0 : f64", "tensor<3x45xi1>"), target, 1, 1e-5, -2, 2, schedule), "")
        << schedule;
    KernelUnderTest kernel(plain(3, 45, "scale = 1.0 : f64", "tensor<3x45xi1>"), target);
    std::vector<Tensor> inputs = kernel.randomInputs(-1, 1);
    std::fill_n(inputs[3].as<uint8_t>(), 3 * 45, 0);
    EXPECT_EQ(difference(kernel.run(inputs, schedule)[0], kernel.expected(inputs)[0], 1e-5), "") << schedule;
  }
}

// ---- Operands rounded to bf16 ----

/// "" if this machine can run them, otherwise the reason to print.
std::string noBf16Here() {
  Target native = Target::parse(testTargetName());
  std::string reason =
      needsEmulator(native) ? "the emulator has none" : formatNamed("bf16", ElementType::f32).obstacle(native);
  return reason.empty() ? "" : "PRODUCTS OF BF16 ARE NOT TESTED HERE: " + reason;
}

/// Rounds operands in `change` of KernelUnderTest::evaluated as kernels do: queries after scaling.
auto roundedOperands(double scale) {
  return [scale](const Tensor &x, size_t operand) {
    auto factor = operand == 0 ? float(scale) : 1.f;
    Tensor scaled(x.type(), x.dims());
    for (int64_t i = 0; i < x.elements(); ++i)
      scaled.as<float>()[i] = x.as<float>()[i] * factor;
    Tensor rounded = scaled.convertedTo(ElementType::bf16).convertedTo(x.type());
    for (int64_t i = 0; i < x.elements(); ++i)
      rounded.as<float>()[i] /= factor;
    return rounded;
  };
}

/// If queries, keys and values are rounded, only the rounding of the weights differs: each weight by at most 2^-8 of
/// itself. A result is a mean of values of at most 2, so it differs by at most 2^-8 * 2.
std::string checkRounded(const KernelText &text, const Target &target, uint64_t seed, const std::string &schedule) {
  KernelUnderTest kernel(text.str(), target, seed);
  kernel.precision = Precision::bf16;
  std::vector<Tensor> inputs = kernel.randomInputs(-2, 2, text.symbols);
  Tensor expected = kernel.evaluated(inputs, roundedOperands(text.scale)).results[0];
  return difference(kernel.run(inputs, schedule)[0], expected, 0x1p-8, 2);
}

TEST(Attention, bf16MatchesReferenceOnRoundedOperands) {
  if (std::string missing = noBf16Here(); !missing.empty())
    GTEST_SKIP() << missing;
  MachineFacts zen5 = machineFromTable("znver5", "x86_64", {}); // where pairs are fast
  Target target = Target::parse(testTargetName() + ",-amx-bf16", &zen5);
  int ran = 0;
  for (int i = 0; i < 120; ++i) {
    uint64_t seed = baseSeed() + i;
    Random random(seed);
    KernelText text = randomAttention(random);
    KernelUnderTest kernel(text.str(), target, seed);
    std::string schedule = i % 2 ? randomSchedule(random, kernel, {{"type", "bf16"}}) : "";
    kernel.precision = Precision::bf16;
    if (schedule.empty())
      ASSERT_EQ(priorSchedule(kernel.problem())->word("type"), "bf16") << text.str();
    if (!kernel.declined(schedule).empty())
      continue; // with a reason
    ++ran;
    ASSERT_EQ(checkRounded(text, target, seed, schedule), "") << "'" << schedule << "', LATHE_SEED=" << seed << "\n"
                                                              << text.str();
  }
  EXPECT_GT(ran, 80) << "nearly every random schedule is declined, LATHE_SEED=" << baseSeed();
}

/// Queries of zero give every key the weight 1, which needs no rounding: means of rounded values, as exact as the sums.
TEST(Attention, bf16RoundsValuesOnce) {
  if (std::string missing = noBf16Here(); !missing.empty())
    GTEST_SKIP() << missing;
  for (const char *schedule : {"attention/2 mr=5 vectors=2 type=bf16", "attention/2 mr=4 vectors=2 kc=16 type=bf16"})
    for (int64_t keys : {1, 16, 33, 50}) {
      KernelUnderTest kernel(plain(20, keys, "scale = 1.0 : f64"), testTarget(), baseSeed());
      std::vector<Tensor> inputs = kernel.randomInputs(-2, 2);
      std::fill_n(inputs[0].as<float>(), inputs[0].elements(), 0.f);
      Tensor got = kernel.run(inputs, schedule)[0], exact = kernel.expected(inputs)[0];
      EXPECT_EQ(difference(got, kernel.evaluated(inputs, roundedOperands(1)).results[0], 1e-6, 2), "") << schedule;
      EXPECT_NE(difference(got, exact, 1e-6, 2), "") << schedule << ": values were not rounded";
    }
}

TEST(Attention, bf16IsNotForOtherTypesAndTargets) {
  auto reason = [](const std::string &text, const char *target) {
    return KernelUnderTest(text, Target::parse(target), 1).declined("attention/2 mr=4 type=bf16");
  };
  std::string text = plain(20, 30, "scale = 1.0 : f64"), doubles = text;
  for (size_t at; (at = doubles.find("xf32")) != std::string::npos;)
    doubles.replace(at, 4, "xf64");
  EXPECT_EQ(reason(text, "znver4"), "");
  EXPECT_THAT(reason(text, "x86-64-v3"), testing::HasSubstr("avx512bf16"));
  EXPECT_THAT(reason(doubles, "znver4"), testing::HasSubstr("f64"));
}

TEST(Attention, otherTargetsCompileAndLink) {
  for (const char *name : {"aarch64-linux-gnu", "znver4"}) {
    Target target = Target::parse(name);
    for (int i = 0; i < 2; ++i) {
      Random random(baseSeed() + i);
      KernelText text = randomAttention(random);
      KernelUnderTest kernel(text.str(), target, 1);
      Outcome<Schedule> schedule = priorSchedule(kernel.problem());
      ASSERT_TRUE(schedule.done()) << schedule.reason() << "\n" << text.str();
      Outcome<GeneratedKernel> generated = generate(kernel.problem(), *schedule);
      ASSERT_TRUE(generated.done()) << generated.reason() << "\n" << text.str();
      std::vector<std::vector<char>> objects{emitObject(*generated->module, target)};
      EXPECT_EQ(linkImage(objects, target).entries.size(), 1u);
    }
  }
}

TEST(Attention, illegalSchedulesDeclineWithAReason) {
  KernelUnderTest kernel(plain(20, 30, "scale = 1.0 : f64"), Target::parse("znver4"), 1);
  EXPECT_EQ(kernel.declined("attention/2 mr=14 vectors=2"), "");
  EXPECT_THAT(kernel.declined("attention/2 mr=14 vectors=4"), testing::HasSubstr("registers"));
  for (const char *undeclared : {"attention/2 colour=7", "attention/2 mr=0", "attention/9"})
    EXPECT_THROW(kernel.declined(undeclared), Error) << undeclared;
}

} // namespace
} // namespace lathe
