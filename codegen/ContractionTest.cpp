// Random convolutions and matrix products against the references: shapes, attributes, layouts, epilogues, schedules,
// targets.
#include "codegen/KernelEmulation.h"
#include "codegen/KernelTesting.h"
#include "codegen/RandomTesting.h"
#include "ops/Lowerings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

std::string join(const std::vector<int64_t> &values, const char *between) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : between) + std::to_string(value);
  return text;
}

/// Element type of the tensors of a problem; all but f32 are rare, so they get few epilogues.
struct Typed {
  std::string name = "f32";
  double tolerance = 2e-5;
};

/// A kernel function as it grows: arguments, body, and the value that is returned.
struct KernelText {
  std::string arguments, body, last, type;
  std::map<std::string, int64_t> symbols;
  int values = 0;

  std::string argument(const std::string &type, bool constant, const std::string &dims = "") {
    std::string name = "%a" + std::to_string(values++);
    arguments += (arguments.empty() ? "" : ", ") + name + ": " + type;
    std::string attributes = constant ? "nn.constant" : "";
    if (!dims.empty())
      attributes += (attributes.empty() ? "" : ", ") + ("nn.dims = [" + dims + "]");
    if (!attributes.empty())
      arguments += " {" + attributes + "}";
    return name;
  }
  void op(const std::string &text, const std::string &operandTypes) {
    std::string name = "%v" + std::to_string(values++);
    body += "  " + name + " = nn." + text + " : (" + operandTypes + ") -> " + type + "\n";
    last = name;
  }
  std::string str() const {
    return "func.func private @k(" + arguments + ") -> " + type + " attributes {nn.family = \"contraction\"} {\n" +
           body + "  return " + last + " : " + type + "\n}\n";
  }
};

/// Up to three element-wise operators after the anchor; `channel` is the type of a constant that varies along channels.
void addEpilogue(KernelText &text, Random &random, const std::string &channel, const std::string &dims,
                 const Typed &typed) {
  if (typed.name != "f32") {
    if (random.chance(2))
      text.op("relu " + text.last, text.type);
    return;
  }
  for (int64_t i = random.in(0, 3); i > 0; --i)
    switch (random.in(0, 5)) {
    case 0:
      text.op("relu " + text.last, text.type);
      break;
    case 1:
      text.op("clip " + text.last + " {min = -0.5 : f64, max = 2.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>}",
              text.type);
      break;
    case 2:
      text.op("hard_swish " + text.last, text.type);
      break;
    case 3: {
      std::string other = text.argument(text.type, false, dims);
      text.op("add " + text.last + ", " + other, text.type + ", " + text.type);
      break;
    }
    case 4: {
      std::string other = text.argument(channel, !random.chance(4));
      text.op("mul " + text.last + ", " + other, text.type + ", " + channel);
      break;
    }
    default: {
      std::string other = text.argument("tensor<f32>", false);
      text.op("add " + other + ", " + text.last, "tensor<f32>, " + text.type);
    }
    }
}

enum class Grouping { dense, grouped, depthwise, winograd }; // winograd: dense, 3x3, stride 1, blocked

KernelText randomConv(Random &random, const Target &target, Grouping grouping, const Typed &typed = {}) {
  KernelText text;
  bool winograd = grouping == Grouping::winograd, dense = winograd || grouping == Grouping::dense;
  int64_t rank = winograd ? 2 : random.of<int64_t>({1, 2, 2, 2, 2, 3});
  int64_t groups = dense ? 1 : random.in(2, 40);
  int64_t inGroup = dense ? random.in(1, 70) : 1, outGroup = dense ? random.in(1, 100) : 1;
  if (grouping == Grouping::grouped) {
    groups = random.of<int64_t>({2, 3, 4, 8});
    inGroup = random.of<int64_t>({1, 2, 3, 4, 8, 16, 32, 5});
    outGroup = random.of<int64_t>({inGroup, inGroup, 1, 2, 6, 16, 32});
  }
  int64_t channels = groups * inGroup, outChannels = groups * outGroup;
  std::vector<int64_t> in, out, kernel, strides, dilations, begins, ends;
  bool pointwise = random.chance(4) && grouping == Grouping::dense;
  int64_t stride = random.of<int64_t>({1, 1, 2}); // of one tap
  for (int64_t i = 0; i < rank; ++i) {
    int64_t k = pointwise ? 1 : random.in(1, 4), s = pointwise ? stride : random.of<int64_t>({1, 1, 2, 3}),
            d = random.of<int64_t>({1, 1, 2});
    if (winograd)
      k = 3, s = 1, d = 1;
    int64_t b = pointwise ? 0 : random.in(0, 3), e = pointwise ? 0 : random.in(0, 3);
    int64_t extent = random.in(1, rank == 3 ? 6 : rank == 2 ? 19 : 40);
    extent = std::max(extent, d * (k - 1) + 1 - b - e);
    in.push_back(extent);
    kernel.push_back(k);
    strides.push_back(s);
    dilations.push_back(d);
    begins.push_back(b);
    ends.push_back(e);
    out.push_back((extent + b + e - d * (k - 1) - 1) / s + 1);
  }
  int64_t images = random.in(1, 3);
  bool symbolic = random.chance(3), blocks = typed.name != "f64", inBlocked = blocks && (winograd || random.chance(2)),
       outBlocked = blocks && (winograd || random.chance(2));
  std::string batch = symbolic ? "?" : std::to_string(images), block = std::to_string(target.channelBlock());
  if (symbolic)
    text.symbols["N"] = images;
  auto tensor = [&](int64_t count, const std::vector<int64_t> &extents, bool blocked) {
    return "tensor<" + batch + "x" + std::to_string(count) + "x" + join(extents, "x") + "x" + typed.name +
           (blocked ? ", #nn.blocked<1, " + block + ">" : "") + ">";
  };
  auto dims = [&](int64_t count, const std::vector<int64_t> &extents) {
    return symbolic ? "\"N\", \"" + std::to_string(count) + "\", \"" + join(extents, "\", \"") + "\"" : "";
  };
  std::string x = tensor(channels, in, inBlocked);
  std::string w = "tensor<" + std::to_string(outChannels) + "x" + std::to_string(inGroup) + "x" + join(kernel, "x") +
                  "x" + typed.name + ">";
  std::string b = "tensor<" + std::to_string(outChannels) + "x" + typed.name + ">";
  text.type = tensor(outChannels, out, outBlocked);
  std::string operands = text.argument(x, false, dims(channels, in));
  operands += ", " + text.argument(w, true);
  std::string types = x + ", " + w;
  if (random.chance(2)) {
    operands += ", " + text.argument(b, !random.chance(4));
    types += ", " + b;
  }
  std::vector<int64_t> pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  text.op("conv " + operands + " {strides = array<i64: " + join(strides, ", ") +
              ">, dilations = array<i64: " + join(dilations, ", ") + ">, pads = array<i64: " + join(pads, ", ") +
              ">, group = " + std::to_string(groups) + " : i64}",
          types);
  std::string ones;
  for (int64_t i = 0; i < rank; ++i)
    ones += "x1";
  addEpilogue(text, random, "tensor<1x" + std::to_string(outChannels) + ones + "x" + typed.name + ">",
              dims(outChannels, out), typed);
  return text;
}

KernelText randomGemm(Random &random, const Typed &typed = {}) {
  KernelText text;
  int64_t m = random.of<int64_t>({1, 2, 5, 14, 29, 40}), n = random.in(1, 120), k = random.in(1, 70);
  bool symbolic = random.chance(3);
  std::string rows = symbolic ? "?" : std::to_string(m), ms = symbolic ? "\"M\"" : "\"" + std::to_string(m) + "\"";
  if (symbolic)
    text.symbols["M"] = m;
  auto matrix = [&](const std::string &r, const std::string &c) {
    return "tensor<" + r + "x" + c + "x" + typed.name + ">";
  };
  std::string ns = std::to_string(n), ks = std::to_string(k), dims = symbolic ? ms + ", \"" + ns + "\"" : "";
  text.type = matrix(rows, ns);
  std::string channel = "tensor<" + ns + "x" + typed.name + ">";
  if (random.chance(2)) { // gemm
    bool transA = random.chance(3) && !symbolic, transB = random.chance(2);
    std::string a = transA ? matrix(ks, rows) : matrix(rows, ks), b = transB ? matrix(ns, ks) : matrix(ks, ns);
    std::string operands = text.argument(a, false, symbolic ? ms + ", \"" + ks + "\"" : ""), types = a + ", " + b;
    operands += ", " + text.argument(b, !random.chance(3));
    if (random.chance(2)) {
      std::string c = random.of<std::string>(
          {channel, "tensor<1x" + ns + "x" + typed.name + ">",
           "tensor<" + (symbolic ? std::string("1") : rows) + "x1x" + typed.name + ">", "tensor<" + typed.name + ">"});
      operands += ", " + text.argument(c, random.chance(2));
      types += ", " + c;
    }
    text.op("gemm " + operands + " {alpha = " + random.of<std::string>({"1.0", typed.name[0] == 'i' ? "1.0" : "0.5"}) +
                " : f64, beta = " + random.of<std::string>({"1.0", typed.name[0] == 'i' ? "1.0" : "-2.0", "0.0"}) +
                " : f64, trans_a = " + (transA ? "true" : "false") + ", trans_b = " + (transB ? "true" : "false") + "}",
            types);
  } else { // matmul
    int64_t batch = random.in(1, 3);
    int64_t kind =
        random.in(0, 3); // matrices; stack times matrix; stack times stack; stacks that are broadcast in part
    std::string stack = kind ? std::to_string(batch) + "x2x" : "";
    std::string a = matrix(stack + rows, ks), b = matrix((kind >= 2 ? stack : "") + ks, ns);
    if (kind == 3)
      b = matrix(random.of<std::string>({"2x", "1x2x", std::to_string(batch) + "x1x"}) + ks, ns);
    std::string lead = kind ? "\"" + std::to_string(batch) + "\", \"2\", " : "";
    text.type = matrix(stack + rows, ns);
    dims = symbolic ? lead + ms + ", \"" + ns + "\"" : "";
    std::string operands = text.argument(a, false, symbolic ? lead + ms + ", \"" + ks + "\"" : "");
    operands += ", " + text.argument(b, random.chance(2));
    text.op("matmul " + operands, a + ", " + b);
  }
  addEpilogue(text, random, channel, dims, typed);
  return text;
}

std::string randomSchedule(Random &random, const std::string &algorithm) {
  auto number = [&](const char *name, std::initializer_list<int64_t> values) {
    return random.chance(5) ? "" : fmt::format(" {}={}", name, random.of<int64_t>(values));
  };
  if (algorithm == "winograd")
    return "winograd/1" + number("m", {2, 4, 6}) + number("px", {1, 2, 3, 5, 7, 14}) + number("blocks", {1, 2, 3, 9}) +
           number("oc", {1, 2, 4}) + number("split", {1, 2, 3}) + number("unroll", {1, 2, 4, 8}) +
           number("prefetch", {0, 1});
  if (algorithm == "gemm")
    return "gemm/1" + number("rows", {1, 2, 3, 6, 14}) + number("vectors", {1, 2, 3, 4, 8}) +
           number("unroll", {1, 2, 4, 7}) + number("mc", {1, 2, 5}) + number("kc", {0, 1, 8, 13, 32}) +
           number("packb", {0, 1}) + number("prefetch", {0, 1});
  if (algorithm == "lanewise")
    return "lanewise/1" + number("px", {1, 2, 3, 8, 14}) + number("rows", {1, 2, 3, 7});
  return "direct/1" + number("px", {1, 2, 3, 6, 7, 8, 12}) + number("oc", {1, 2, 3, 4}) +
         number("unroll", {1, 2, 4, 8, 16}) + number("rows", {1, 2, 3, 7}) + number("kc", {0, 1, 8, 16, 32}) +
         number("width", {1, 4, 9, 16, 25}) + number("prefetch", {0, 1}) + (random.chance(2) ? " outer=channels" : "");
}

/// Of single elements, relative to the largest: Winograd's larger transforms multiply rounding errors, and an epilogue may limit the
/// largest after they were made (a clip to 2 behind sums of 25).
double toleranceOf(const Schedule &schedule) {
  int64_t m = schedule.algorithm == "winograd" ? schedule.number("m", 4) : 0;
  return m > 4 ? 4e-4 : m > 2 ? 1e-4 : 2e-5;
}

struct Family {
  const char *name;
  std::function<KernelText(Random &, const Target &)> make;
  std::string algorithm; // whose schedules are tried
};

const std::vector<Family> &families() {
  static const std::vector<Family> all = {
      {"dense", [](Random &r, const Target &t) { return randomConv(r, t, Grouping::dense); }, "direct"},
      {"grouped", [](Random &r, const Target &t) { return randomConv(r, t, Grouping::grouped); }, "direct"},
      {"depthwise", [](Random &r, const Target &t) { return randomConv(r, t, Grouping::depthwise); }, "lanewise"},
      {"winograd", [](Random &r, const Target &t) { return randomConv(r, t, Grouping::winograd); }, "winograd"},
      {"gemm", [](Random &r, const Target &) { return randomGemm(r); }, "gemm"},
  };
  return all;
}

bool runsHere(const Target &target) {
  Target native = Target::parse("native");
  return needsEmulator(target) || (native.featureBits & target.featureBits) == target.featureBits;
}

void sweep(const char *targetName, int count) {
  Target target = Target::parse(targetName);
  if (!runsHere(target))
    GTEST_SKIP() << "this CPU does not run code for " << targetName;
  for (const Family &family : families())
    for (int i = 0; i < count; ++i) {
      uint64_t seed = baseSeed() + i;
      Random random(seed * 8 + (&family - families().data()));
      KernelText text = family.make(random, target);
      Outcome<Schedule> prior = priorSchedule(KernelUnderTest(text.str(), target, seed).problem());
      ASSERT_TRUE(prior.done()) << prior.reason() << "\n" << text.str();
      ASSERT_EQ(checkKernel(text.str(), target, seed, toleranceOf(*prior), -1, 1, "", text.symbols), "")
          << family.name << " on " << targetName << ", LATHE_SEED=" << seed << " reproduces it as the first case\n"
          << text.str();
    }
}

struct Contraction : testing::Test {
  void SetUp() override { registerLowerings(); }
};

TEST_F(Contraction, priorMatchesReferenceNative) { sweep(testTargetName().c_str(), 25); }
TEST_F(Contraction, priorMatchesReferenceAvx2) { sweep("x86-64-v3", 12); }
TEST_F(Contraction, priorMatchesReferenceSse) { sweep("x86-64-v2", 6); }

TEST_F(Contraction, everyScheduleMatchesReference) {
  Target target = testTarget();
  int ran = 0;
  for (const Family &family : families())
    for (int i = 0; i < 40; ++i) {
      uint64_t seed = baseSeed() + i;
      Random random(seed * 8 + 4 + (&family - families().data()));
      KernelText text = family.make(random, target);
      std::string schedule = randomSchedule(random, family.algorithm);
      KernelUnderTest kernel(text.str(), target, seed);
      if (!kernel.declined(schedule).empty())
        continue; // with a reason: legal schedules run, others say why not
      ++ran;
      ASSERT_EQ(
          checkKernel(text.str(), target, seed, toleranceOf(Schedule::parse(schedule)), -1, 1, schedule, text.symbols),
          "")
          << family.name << " '" << schedule << "', LATHE_SEED=" << seed << "\n"
          << text.str();
    }
  EXPECT_GT(ran, 20) << "nearly every random schedule is declined, LATHE_SEED=" << baseSeed();
}

/// Few sums over many steps are split into several and added up at the end, whatever is left over by unrolling and by
/// blocks.
TEST_F(Contraction, longReductionsOfFewResults) {
  Target target = testTarget();
  for (const Typed &typed : {Typed{"f32", 2e-5}, Typed{"f64", 1e-12}, Typed{"i32", 0}})
    for (int i = 0; i < 12; ++i) {
      uint64_t seed = baseSeed() + i;
      Random random(seed);
      int64_t rows = random.in(1, 4), columns = random.in(1, 40), depth = random.in(60, 330);
      std::string schedule =
          i % 4
              ? fmt::format("gemm/1 rows={} vectors={} unroll={} kc={} prefetch={}", random.in(1, 3), random.in(1, 3),
                            random.of<int64_t>({1, 2, 3, 4, 6, 8}), random.of<int64_t>({0, 0, 64, 77}), random.in(0, 1))
              : "";
      auto matrix = [&](int64_t m, int64_t n) { return fmt::format("tensor<{}x{}x{}>", m, n, typed.name); };
      KernelText text;
      text.type = matrix(rows, columns);
      std::string a = text.argument(matrix(rows, depth), false), b = text.argument(matrix(depth, columns), true);
      text.op("matmul " + a + ", " + b, matrix(rows, depth) + ", " + matrix(depth, columns));
      double range = typed.name == "i32" ? 9 : 1;
      ASSERT_EQ(checkKernel(text.str(), target, seed, typed.tolerance, -range, range, schedule, text.symbols), "")
          << schedule << ", LATHE_SEED=" << seed << "\n"
          << text.str();
    }
}

TEST_F(Contraction, otherElementTypes) {
  for (const std::string &targetName : {testTargetName(), std::string("x86-64-v3")}) {
    Target target = Target::parse(targetName);
    if (!runsHere(target))
      continue;
    for (const Typed &typed : {Typed{"f64", 1e-12}, Typed{"f16", 2e-3}, Typed{"bf16", 2e-2}, Typed{"i32", 0}})
      for (int i = 0; i < 10; ++i) {
        uint64_t seed = baseSeed() + i;
        Random random(seed);
        KernelText text =
            i % 2 ? randomGemm(random, typed) : randomConv(random, target, Grouping(random.in(0, 2)), typed);
        double range = typed.name == "i32" ? 9 : 1;
        ASSERT_EQ(checkKernel(text.str(), target, seed, typed.tolerance, -range, range, "", text.symbols), "")
            << targetName << ", LATHE_SEED=" << seed << "\n"
            << text.str();
      }
  }
}

TEST_F(Contraction, otherTargetsCompileAndLink) {
  for (const char *name : {"aarch64-linux-gnu", "cortex-a76", "znver4", "skylake-avx512"}) {
    Target target = Target::parse(name);
    for (const Family &family : families())
      for (int i = 0; i < 3; ++i) {
        Random random(baseSeed() + i);
        KernelText text = family.make(random, target);
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

std::string denseConv() {
  return "func.func private @k(%x: tensor<1x32x14x14xf32, #nn.blocked<1, 16>>, %w: tensor<64x32x3x3xf32> "
         "{nn.constant}) -> "
         "tensor<1x64x14x14xf32, #nn.blocked<1, 16>> attributes {nn.family = \"contraction\"} {\n"
         "  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, "
         "1>} : "
         "(tensor<1x32x14x14xf32, #nn.blocked<1, 16>>, tensor<64x32x3x3xf32>) -> tensor<1x64x14x14xf32, #nn.blocked<1, "
         "16>>\n"
         "  return %0 : tensor<1x64x14x14xf32, #nn.blocked<1, 16>>\n}\n";
}

TEST_F(Contraction, exactMathForbidsWinograd) {
  KernelUnderTest kernel(denseConv(), Target::parse("znver4"), 1);
  KernelProblem problem = kernel.problem();
  EXPECT_EQ(priorSchedule(problem)->algorithm, "winograd");
  problem.exactMath = true;
  EXPECT_EQ(priorSchedule(problem)->algorithm, "direct");
  EXPECT_THAT(generate(problem, Schedule::parse("winograd/1 m=2")).reason(), testing::HasSubstr("exact math"));
}

TEST_F(Contraction, smallMemoryForbidsWhatGrowsTheWeights) {
  KernelUnderTest kernel(denseConv(), Target::parse("znver4"), 1);
  KernelProblem problem = kernel.problem();
  problem.smallMemory = true;
  EXPECT_EQ(priorSchedule(problem)->algorithm, "direct");
  EXPECT_THAT(generate(problem, Schedule::parse("winograd/1 m=2")).reason(), testing::HasSubstr("--memory small"));
}

TEST_F(Contraction, illegalSchedulesDeclineWithAReason) {
  KernelUnderTest kernel(denseConv(), Target::parse("znver4"), 1);
  auto reason = [&](const char *schedule) { return kernel.declined(schedule); };
  EXPECT_EQ(reason("direct/1 px=14 oc=2 unroll=8"), "");
  EXPECT_THAT(reason("direct/1 px=14 oc=4"), testing::HasSubstr("registers"));
  EXPECT_THAT(reason("direct/1 px=7 unroll=3"), testing::HasSubstr("unroll=3"));
  EXPECT_THAT(reason("direct/1 px=7 kc=24"), testing::HasSubstr("kc=24"));
  EXPECT_THAT(reason("direct/1 px=7 width=28"), testing::HasSubstr("width=28"));
  EXPECT_THAT(reason("direct/1 px=0"), testing::HasSubstr("px=0"));
  EXPECT_THAT(reason("direct/1 outer=depth"), testing::HasSubstr("outer=depth"));
  EXPECT_EQ(reason("winograd/1 m=4 px=7 blocks=3 oc=2"), "");
  EXPECT_THAT(reason("winograd/1 m=3"), testing::HasSubstr("3 outputs"));
  EXPECT_THAT(reason("winograd/1 oc=3"), testing::HasSubstr("oc=3"));
  EXPECT_THAT(reason("winograd/1 px=14 oc=4"), testing::HasSubstr("registers"));
  EXPECT_THAT(reason("direct/2 px=7"), testing::HasSubstr("version 2"));
  EXPECT_THAT(reason("gemm/1 rows=4"), testing::HasSubstr("gemm"));
  EXPECT_THROW(reason("direct/1 colour=7"), Error);
}

} // namespace
} // namespace lathe
