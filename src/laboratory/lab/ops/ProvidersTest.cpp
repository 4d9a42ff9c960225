// Every provider of this build on every kind of problem: its answer is right, or it declines with a reason.
#include "lab/ops/OpsLab.h"
#include "package/Package.h"
#include "runtime/Cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>

using namespace lathe;
using namespace lathe::lab;

static OpsLabOptions onlyChecked() {
  OpsLabOptions options;
  options.checkOnly = true;
  return options;
}

/// Providers of this build, ours first; prints missing ones.
static std::vector<std::string> providersHere() {
  std::vector<std::string> words;
  for (auto &name : knownProviders())
    if (findProvider(name).done())
      words.push_back(name);
    else
      std::printf("[          ] without %s: %s\n", name.c_str(), findProvider(name).reason().c_str());
  return words;
}

/// Number of problems that each provider computed; 0 if it has the operator and declined all of them.
using Computed = std::map<std::string, int>;

/// Implementations of peers that may give wrong answers if these are reported as wrong.
enum class MayFail { none, forOlderCpus, all };

/// True for an implementation for CPUs without VNNI, by its name: "jit_uni_int8:avx2 nhwc to nhwc".
static bool isForOlderCpus(const std::string &implementation) {
  return std::regex_search(implementation, std::regex(":(sse41|avx|avx2|avx512_core)( |$)"));
}

/// Runs every variant of every provider of this build on problems of one operator: each answer is right, or declined
/// with a reason. The first problem runs on one thread and on two, the others in turn on one or two; with
/// LATHE_TEST_ALL, which `make test-all` sets, all run on both. `lathe` and `reference`, which every build has, must
/// decline nothing.
static Computed conformance(const std::vector<Problem> &problems, MayFail mayFail = MayFail::none) {
  auto words = providersHere();
  for (const char *always : {"lathe", "reference"})
    EXPECT_TRUE(std::find(words.begin(), words.end(), always) != words.end()) << always << " is not built";
  if (words.empty())
    return {};
  OpsLabOptions options = onlyChecked();
  const std::string op = problems[0].op;
  if (words[0] == knownProviders()[0])
    words[0] += ":all"; // all variants of our provider
  auto columns = opsColumns(op, words, options);
  words[0] = columns[0].provider.name;
  Computed computed;
  for (auto &column : columns)
    if (column.lacks.empty())
      computed[column.provider.name] = 0;
  OpsLab bench(columns, options);
  for (size_t i = 0; i < problems.size(); ++i)
    for (int threads : i == 0 || std::getenv("LATHE_TEST_ALL") ? std::vector{1, 2} : std::vector{1 + int(i % 2)}) {
      const Problem &problem = problems[i];
      OpsRow row = bench.measure({problem, op, problem.str(), problem.str(), {}, 1}, {threads});
      for (auto &point : row.points) {
        bool accepted =
            mayFail == MayFail::all || (mayFail == MayFail::forOlderCpus && isForOlderCpus(point.implementation));
        bool told = point.status == PointStatus::failed && accepted && point.provider != words[0] &&
                    point.provider != "reference" && point.relativeL2 > 0;
        EXPECT_TRUE(point.status == PointStatus::passed || point.status == PointStatus::sameAs ||
                    (point.status == PointStatus::unimplemented && !point.reason.empty()) || told)
            << problem.str() << " " << point.provider << ":" << point.variant << " " << name(point.status) << ": "
            << point.reason;
        if (auto found = computed.find(point.provider); found != computed.end())
          found->second += point.status == PointStatus::passed || point.status == PointStatus::sameAs || told;
        if (point.provider == "reference") {
          EXPECT_EQ(point.status, PointStatus::passed) << problem.str() << ": " << point.reason;
        }
      }
      EXPECT_EQ(row.points[0].status, PointStatus::passed) << problem.str() << ": " << row.points[0].reason;
    }
  return computed;
}

static Computed conformance(const std::string &kind, const std::vector<std::string> &texts) {
  std::vector<Problem> problems;
  for (auto &text : texts)
    problems.push_back(parseProblem(kind, text));
  return conformance(problems);
}

static void add(Computed &sum, const Computed &more) {
  for (auto &[provider, count] : more)
    sum[provider] += count;
}

/// Fails for a provider that has the operator but declined all of its problems.
static void expectAllCompute(const Computed &computed) {
  for (auto &[provider, count] : computed)
    EXPECT_GT(count, 0) << provider << " declines every problem of an operator that it says it has";
}

TEST(Providers, providersAgreeOnConvolutions) {
  Computed computed = conformance("conv2d", {"ic64ih14oc64kh3ph1", "mb2ic19ih9oc33kh1", "ic3ih33oc16kh7sh2ph3",
                                             "g32ic32ih15oc32kh3ph1sh2", "g4ic32ih8oc32kh3ph1", "ic16ih17oc24kh1kw7pw3",
                                             "ic16ih12oc16kh3dh1ph2"});
  for (const std::string &provider : providersHere())
    computed.try_emplace(provider, 0); // all have convolutions
  expectAllCompute(computed);
}

TEST(Providers, providersAgreeOnConvolutionsOfOtherRanks) {
  expectAllCompute(conformance("conv", {"ic16id4ih6oc16kd3pd1", "ic19iw33oc17kw3pw1", "mb2g2ic8iw20oc16kw5sw2pw2"}));
}

TEST(Providers, providersAgreeOnEveryKind) {
  for (auto &[kind, texts] : std::map<std::string, std::vector<std::string>>{
           {"gemm", {"m17n33k65", "m64n128k256ta1", "m1n100k300tb1", "m20n31k9ta1tb1"}},
           {"matmul", {"3x17x33:3x33x20", "2x3x8x16:2x3x16x24", "5x7x9:9x11"}},
           {"fc", {"mb1ic300oc101", "mb5ic8ih3oc17"}},
           {"pool", {"ic19ih13kh3sh2ph1:max", "mb2ic16ih8kh2sh2:avg"}},
           {"softmax", {"33x100", "4x19x7:axis1"}},
           {"layer_norm", {"17x300", "2x5x64"}},
           {"reduction", {"2x19x7x5:2x19x1x1:sum", "30x17:1x17"}},
           {"resize", {"ic19ih7oh14", "mb2ic16ih6oh9:linear"}},
           {"transpose", {"2x19x5x7:0,2,3,1", "33x65:1,0"}},
           {"reshape", {"2x19x7:2x133"}},
           {"lstm", {"t5mb1slc40dhc33", "t3mb2slc16dhc16dir2"}}}) {
    SCOPED_TRACE(kind);
    Computed computed = conformance(kind, texts);
    if (kind == "gemm" || kind == "matmul")
      computed.erase("xnnpack"); // needs constant weights, and only fc has them
    expectAllCompute(computed);
  }
  Computed elementwise;
  for (auto text : {"2x19x7x5:relu", "33x65:gelu", "2x19x7x5:1x19x1x1:add", "40x7:40x7:mul"}) {
    SCOPED_TRACE(text);
    add(elementwise, conformance("eltwise", {text}));
  }
  expectAllCompute(elementwise);
}

/// The points of every variant of our provider for one problem, by variant; not timed.
static std::map<std::string, OpsPoint> oursByVariant(const std::string &kind, const std::string &text) {
  OpsLabOptions options = onlyChecked();
  Problem parsed = parseProblem(kind, text);
  std::map<std::string, OpsPoint> points;
  // A separate process for each variant: a single process would report equal implementations as same_as.
  for (auto &column : opsColumns(parsed.op, {"lathe:all"}, options))
    points[column.variant] = OpsLab({column}, options).measure({parsed, kind, text, text, {}, 1}, {2}).points[0];
  return points;
}

/// Each algorithm is a variant: it runs that algorithm, or declines with the reason.
TEST(Providers, ourAlgorithmsByName) {
  ASSERT_TRUE(findProvider("lathe").done()) << findProvider("lathe").reason();
  struct Case {
    const char *kind, *text;
    std::map<std::string, std::string> implementations; // by variant: a part of the implementation
    std::map<std::string, std::string> reasons;         // by variant: a part of the reason
  };
  const std::string dense = "dense 3x3 convolutions of stride 1";
  for (const Case &wanted :
       {Case{"conv2d",
             "ic64ih14oc64kh3ph1",
             {{"direct", "direct/1 "},
              {"winograd-2", "winograd/2 m=2 "},
              {"winograd-4", "winograd/2 "},
              {"winograd-6", "winograd/2 m=6 "},
              {"im2col", "gemm/2 "}},
             {{"gemm", "does not compute convolutions"}, {"separable", "a pointwise one behind it"}}},
        Case{"conv2d",
             "mb2g32ic32ih15oc32kh3ph1sh2",
             {{"lanewise", "lanewise/1 "}, {"im2col", "gemm/2 "}},
             {{"winograd-4", dense}, {"gemm", "does not compute convolutions"}}},
        Case{"conv2d",
             "mb2g2ic16ih9iw12oc24kh3sh2dh1",
             {{"direct", "direct/1 "}, {"im2col", "gemm/2 "}},
             {{"winograd-2", dense}}},
        Case{"conv2d", "ic40ih9oc24kh1", {{"direct", "direct/1 "}, {"im2col", "gemm/2 "}}, {{"winograd-6", dense}}},
        Case{"conv", "ic16id4ih6oc16kd3pd1", {{"direct", "direct/1 "}, {"im2col", "gemm/2 "}}, {{"winograd-6", dense}}},
        Case{"matmul",
             "3x17x33:3x33x20",
             {{"gemm", "gemm/2 "}},
             {{"direct", "does not compute matrix products"}, {"winograd-2", "does not compute matrix products"}}},
        Case{"softmax", "33x100", {{"softmax", "softmax/2 "}}, {}}}) {
    SCOPED_TRACE(wanted.text);
    auto points = oursByVariant(wanted.kind, wanted.text);
    for (auto &[variant, point] : points) {
      EXPECT_TRUE(point.status == PointStatus::passed ||
                  (point.status == PointStatus::unimplemented && !point.reason.empty()))
          << variant << ": " << name(point.status) << " " << point.reason;
    }
    for (auto &[variant, implementation] : wanted.implementations) {
      EXPECT_EQ(points[variant].status, PointStatus::passed) << variant << ": " << points[variant].reason;
      EXPECT_NE(points[variant].implementation.find(implementation), std::string::npos)
          << variant << ": " << points[variant].implementation;
      bool isDefault = implementation == "winograd/2 "; // m=4, which canonical texts omit
      EXPECT_TRUE(!isDefault || points[variant].implementation.find(" m=") == std::string::npos)
          << variant << ": " << points[variant].implementation;
    }
    for (auto &[variant, reason] : wanted.reasons) {
      EXPECT_EQ(points[variant].status, PointStatus::unimplemented) << variant;
      EXPECT_NE(points[variant].reason.find(reason), std::string::npos) << variant << ": " << points[variant].reason;
    }
  }
}

/// Sums of 8-bit products are exact, so there is no rounding: an answer is equal or wrong.
TEST(Providers, providersAgreeOnProductsOfBytes) {
  using package::CpuFeature;
  // Without VNNI, libraries add pairs of products in 16 bits, which saturates. On other CPUs the implementations of
  // oneDNN for CPUs without VNNI do so.
  bool exact = (runtime::cpuFeatures() &
                (package::featureBit(CpuFeature::avx512vnni) | package::featureBit(CpuFeature::avxvnni))) != 0;
  const std::map<std::string, std::vector<std::string>> texts = {
      {"conv2d", {"ic19ih9oc33kh3ph1", "mb2g2ic8ih7oc6kh3sh2", "ic64ih7oc40kh1", "g32ic32ih15oc32kh3ph1"}},
      {"conv", {"ic16id4ih6oc16kd3pd1", "ic19iw33oc17kw3pw1"}},
      {"gemm", {"m17n33k65", "m1n100k300"}},
      {"matmul", {"3x17x33:3x33x20", "5x7x9:9x11"}},
      {"fc", {"mb5ic300oc101"}}};
  std::map<std::string, Computed> computed; // by kind
  for (const char *types : {"u8:s8:s32", "s8:s8:s32", "u8:u8:s32"})
    for (auto &[kind, texts] : texts) {
      SCOPED_TRACE(std::string(types) + " " + kind);
      SyntaxOptions syntax;
      setTypes(syntax, types);
      setEpilogue(syntax, "none");
      std::vector<Problem> whole, narrow;
      for (auto &text : texts) {
        whole.push_back(parseProblem(kind, text, syntax));
        Problem &weights = narrow.emplace_back(whole.back()); // 7-bit weights: pairs of products fit into 16 bits
        weights.operands[1].low = syntax.weights == ElementType::i8 ? -64 : 0;
        weights.operands[1].high = 64;
      }
      add(computed[kind], conformance(whole, exact ? MayFail::forOlderCpus : MayFail::all));
      if (syntax.type == ElementType::u8)
        add(computed[kind], conformance(narrow));
    }
  for (const char *kind : {"conv2d", "matmul"})
    for (const char *provider : {"onednn", "onnxruntime"})
      if (findProvider(provider)) {
        EXPECT_GT(computed[kind][provider], 0) << provider << " declines every " << kind << " of bytes";
      }
  conformance(
      {Problem::parse("conv_integer x=1x8x9x9:u8:0..256 w=16x8x3x3:i8:-64..64:const x_zero_point=scalar:u8:3..4 "
                      "w_zero_point=16:i8:-9..9:const strides=1,1 dilations=1,1 pads=1,1,1,1 +relu")});
  conformance({Problem::parse("matmul_integer a=7x40:u8:0..256 b=40x9:i8:-64..64:const a_zero_point=7:u8:0..256 "
                              "b_zero_point=9:i8:-9..9 +add")});
}

/// If a library's definition differs from the operator's, each provider follows the operator, or declines.
TEST(Providers, providersKeepToTheDefinitions) {
  Computed computed;
  for (auto &[kind, texts] : std::map<std::string, std::vector<std::string>>{
           {"gemm",
            {"gemm a=17x9 b=9x12 c=17x1 alpha=0.5 beta=2", "gemm a=17x9 b=9x12:const c=12:const +gelu",
             "gemm a=17x9 b=9x12:const c=17x12 alpha=0.5 +relu", "gemm a=17x9 b=9x12:const c=17x12 +gelu +sub",
             "gemm a=17x9 b=9x12:const c=12:const +add +relu"}},
           {"conv2d",
            {"conv x=2x32x9x9 w=33x32x1x1:const b=33:const strides=1,1 dilations=1,1 pads=0,0,0,0 +add +relu",
             "conv x=1x32x9x9 w=32x32x3x3:const strides=1,1 dilations=1,1 pads=1,1,1,1 +add",
             "conv x=1x3x9x9 w=32x3x3x3:const strides=2,2 dilations=1,1 pads=1,1,1,1 +relu +mul",
             "conv x=1x32x9x9 w=32x1x3x3:const group=32 strides=1,1 dilations=1,1 pads=1,1,1,1 +sub +sigmoid"}},
           {"matmul", {"2x1x7x9:1x3x9x11", "matmul a=3x4x9 b=9x5:const"}},
           {"pool", {"ic19ih13kh3sh2ph1:avg", "ic19ih13kh3sh2ph1:avg_p", "ic16ih15kh3dh1ph1", "ic8id6ih6kd2sd2:avg"}},
           {"average_pool",
            {"x=1x16x14x14 kernel=3,3 strides=2,2 pads=0,0,0,0 dilations=1,1 ceil_mode=true",
             "x=1x16x14x14 kernel=3,3 strides=2,2 pads=0,0,0,0 dilations=1,1 ceil_mode=true count_include_pad=true"}},
           {"softmax", {"2x19x7x5:axis1", "2x3x19x7:axis2"}},
           {"layer_norm", {"layer_norm x=2x5x64 scale=5x64:const axis=1"}},
           {"lrn", {"x=2x19x7x5 size=5", "x=2x16x7x5 size=4"}},
           {"reduce_mean", {"x=2x19x7x5 axes=2,3 keepdims=false", "x=2x19x7x5"}},
           {"reduction", {"4x9:4x1:l2", "2x19x7x5:1x19x7x5:max"}},
           {"resize",
            {"ic16ih14oh7", "ic16ih14oh5:linear",
             "resize x=1x8x5x5 mode=linear coordinate_mode=align_corners sizes=1,8,9,9",
             "resize x=1x8x5x5 mode=linear coordinate_mode=asymmetric sizes=1,8,10,10"}},
           {"lstm",
            {"lstm x=4x2x8 w=1x64x8:const:-0.2..0.2 r=1x64x16:const:-0.2..0.2 direction=reverse",
             "lstm x=4x2x8 w=1x64x8:const:-0.2..0.2 r=1x64x16:const:-0.2..0.2 initial_h=1x2x16 initial_c=1x2x16"}},
           {"clip", {"x=33x65:-4..4 min=-1 max=2"}},
           {"leaky_relu", {"x=33x65:-4..4 alpha=0.3 +sigmoid"}},
           {"sub", {"a=1x7 b=40x7", "a=2x19x7x5 b=19x1x1"}}}) {
    SCOPED_TRACE(kind);
    add(computed, conformance(kind, texts));
  }
  expectAllCompute(computed); // some of all kinds
}

TEST(Providers, variadicOperandsAndIndices) {
  expectAllCompute(conformance("concat", {"inputs=1x8x4x4 inputs=1x16x4x4 inputs=1x3x4x4 axis=1"}));
  expectAllCompute(conformance("gather", {"x=100x30 indices=2x7:i64:0..100"}));
}

TEST(Providers, constantsAloneAreFlushedOnRequest) {
  auto words = providersHere();
  if (words.empty())
    GTEST_SKIP() << "no provider is built";
  Problem weights = parseProblem("fc", "ic2048oc2048"), none = Problem::parse("relu x=1x64");
  for (auto &problem : {weights, none}) {
    OpsLabOptions options; // the shortest options with timing
    options.minRounds = options.maxRounds = 3;
    options.minStarts = options.maxStarts = 1;
    options.roundSeconds = 0.005;
    OpsLab bench(opsColumns(problem.op, words, options), options);
    ListedProblem listed{problem, problem.op, problem.str(), "", {}, 1};
    OpsRow hot = bench.measure(listed, {1}), cold = bench.measure(listed, {1, store::CacheState::coldConstants});
    EXPECT_EQ(toJson(cold)["cache"], "cold-constants");
    for (size_t i = 0; i < cold.points.size(); ++i) {
      auto &point = cold.points[i];
      SCOPED_TRACE(point.provider + ":" + point.variant + " " + point.reason);
      if (hot.points[i].timed())
        EXPECT_TRUE(point.timed() || (point.status == PointStatus::unimplemented && !point.reason.empty()));
    }
    EXPECT_TRUE(cold.points[0].timed());
  }
}

TEST(Providers, oneDnnsOtherImplementations) {
  if (!findProvider("onednn"))
    GTEST_SKIP() << findProvider("onednn").reason();
  OpsLabOptions options = onlyChecked();
  std::vector<OpsColumn> columns;
  for (const char *variant : {"auto", "gemm", "impl-2", "impl-8"})
    columns.push_back({*findProvider("onednn"), variant});
  OpsLab bench(columns, options);
  const char *text = "ic32ih9oc32kh3ph1";
  auto points = bench.measure({parseProblem("conv2d", text), "conv2d", text, text, {}, 1}, {1}).points;
  EXPECT_EQ(points[0].status, PointStatus::passed) << points[0].reason;
  EXPECT_EQ(points[1].status, PointStatus::passed) << points[1].reason;
  EXPECT_NE(points[1].implementation.find("gemm"), std::string::npos) << points[1].implementation;
  EXPECT_EQ(points[2].status, PointStatus::passed) << points[2].reason;
  EXPECT_NE(points[2].implementation, points[0].implementation);
  // For any number of implementations: the last number gives an implementation, or an answer that states their number.
  EXPECT_TRUE(points[3].status == PointStatus::passed || points[3].status == PointStatus::sameAs ||
              points[3].reason.find("implementations of it") != std::string::npos)
      << points[3].reason;
}
