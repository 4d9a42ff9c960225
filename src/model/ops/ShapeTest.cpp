// Shape functions: extents, open extents, contents; and every numbered constraint violated once.
#include "ops/ShapeRules.h"
#include "ops/ShapeTesting.h"

#include <filesystem>
#include <fstream>
#include <regex>

namespace lathe {
namespace {

using namespace shape_testing;

TEST(Shape, Elementwise) {
  EXPECT_EQ(infer("relu", ReluAttrs(), {tensor("i32 N 2")}), "i32 N 2");
  expectViolation("unary_c1", "relu", ReluAttrs(), {tensor("bool 2")});
  expectViolation("unary_c1", "exp", ExpAttrs(), {tensor("i32 2")});
  expectViolation("unary_c1", "not", NotAttrs(), {tensor("i32 2")});
  expectViolation("gelu_c1", "gelu", with(GeluAttrs(), [](auto &a) { a.approximate = "erf"; }), {tensor("f32 2")});
  EXPECT_EQ(infer("is_nan", IsNanAttrs(), {tensor("f16 2")}), "bool 2");
  expectViolation("clip_c1", "clip", ClipAttrs(), {tensor("f32 2"), tensor("f32 2")});
  expectViolation("clip_c1", "clip", ClipAttrs(), {tensor("f32 2"), absent, tensor("f64")});
  expectViolation("clip_c2", "clip", ClipAttrs(), {tensor("string 2")});
  expectViolation("cast_c1", "cast", CastAttrs(), {tensor("f32 2")});
  EXPECT_EQ(infer("add", AddAttrs(), {tensor("f32 N 1 4"), tensor("f32 3 1")}), "f32 N 3 4");
  EXPECT_EQ(infer("add", AddAttrs(), {tensor("f32 N"), tensor("f32 3")}), "f32 3");
  expectViolation("bitwise_c1", "bitwise_not", BitwiseNotAttrs(), {tensor("f32 4")});
  expectViolation("bitwise_c1", "bitwise_and", BitwiseAndAttrs(), {tensor("f32 4"), tensor("f32 4")});
  expectViolation("bit_shift_c1", "bit_shift", BitShiftAttrs(), {tensor("i32 4"), tensor("i32 4")});
  expectViolation("bit_shift_c2", "bit_shift", with(BitShiftAttrs(), [](auto &a) { a.direction = "UP"; }),
                  {tensor("u8 4"), tensor("u8 4")});
  expectViolation("binary_c1", "add", AddAttrs(), {tensor("f32 1"), tensor("f64 1")});
  expectViolation("binary_c1", "equal", EqualAttrs(), {tensor("f32 1"), tensor("f64 1")});
  expectViolation("binary_c2", "mul", MulAttrs(), {tensor("f32 2"), tensor("f32 3")});
  expectViolation("binary_c3", "sub", SubAttrs(), {tensor("bool 2"), tensor("bool 2")});
  expectViolation("binary_c3", "and", AndAttrs(), {tensor("i32 2"), tensor("i32 2")});
  expectViolation("mod_c1", "mod", ModAttrs(), {tensor("f32 2"), tensor("f32 2")});
  expectViolation("prelu_c1", "prelu", PreluAttrs(), {tensor("f32 2"), tensor("f32 3 2")});
  EXPECT_EQ(infer("less", LessAttrs(), {tensor("f32 2"), tensor("f32")}), "bool 2");
  EXPECT_EQ(infer("where", WhereAttrs(), {tensor("bool 2 1"), tensor("string 3"), tensor("string")}), "string 2 3");
  expectViolation("where_c1", "where", WhereAttrs(), {tensor("i32 2"), tensor("f32"), tensor("f32")});
  expectViolation("where_c2", "where", WhereAttrs(), {tensor("bool 2"), tensor("f32"), tensor("f64")});
  expectViolation("where_c3", "where", WhereAttrs(), {tensor("bool 2"), tensor("f32 3"), tensor("f32")});
}

TEST(Shape, Reductions) {
  ReduceSumAttrs a;
  a.axes = {2, -1};
  EXPECT_EQ(infer("reduce_sum", a, {tensor("f32 N 64 7 7")}), "f32 N 64 1 1");
  EXPECT_EQ(infer("reduce_sum", with(a, [](auto &a) { a.keepdims = false; }), {tensor("f32 N 64 7 7")}), "f32 N 64");
  EXPECT_EQ(infer("reduce_sum", ReduceSumAttrs(), {tensor("f32 N 64 7 7"), values("1")}), "f32 N 1 7 7");
  expectViolation("reduce_c1", "reduce_sum", a, {tensor("f32 2 2")});
  expectViolation("reduce_c1", "reduce_sum", with(a, [](auto &a) { a.axes = {0, -2}; }), {tensor("f32 2 2")});
  // Axes known only at run time.
  auto flat = with(ReduceSumAttrs(), [](auto &a) { a.keepdims = false; });
  EXPECT_EQ(infer("reduce_sum", ReduceSumAttrs(), {tensor("f32 N 1 4"), tensor("i64 K")}), "f32 ? 1 ?");
  EXPECT_EQ(infer("reduce_sum", flat, {tensor("f32 2 3 4"), tensor("i64 2")}), "f32 ?");
  EXPECT_EQ(infer("reduce_sum", flat, {tensor("f32 2 3 4"), tensor("i64 0")}), "f32");
  expectViolation("reduce_c1", "reduce_sum", flat, {tensor("f32 2 3 4"), tensor("i64 K")});
  expectViolation("reduce_c1", "reduce_sum", flat, {tensor("f32 2 3"), tensor("i64 3")});
  expectViolation("reduce_c1", "reduce_sum", flat, {tensor("f32 2 3"), tensor("f32 1")});
  expectViolation("reduce_c2", "reduce_max", ReduceMaxAttrs(), {tensor("bool 2")});
  EXPECT_EQ(
      infer("arg_max", with(ArgMaxAttrs(), [](auto &a) { a.axis = -1, a.keepdims = false; }), {tensor("f32 N 9")}),
      "i64 N");
  expectViolation("arg_c1", "arg_min", ArgMinAttrs(), {tensor("f32")});
  expectViolation("arg_c2", "arg_max", ArgMaxAttrs(), {tensor("string 2")});
  expectViolation("arg_c3", "arg_max", ArgMaxAttrs(), {tensor("f32 0")});
}

TEST(Shape, ContentsFlowThroughShapeArithmetic) {
  TensorInfo shape = values("N 3 7"), n = TensorInfo{ElementType::i64, {}, std::vector<Dim>{Dim::symbol("N")}};
  EXPECT_EQ(contents("gather", GatherAttrs(), {shape, scalar(0)}), "N");
  EXPECT_EQ(contents("gather", GatherAttrs(), {shape, values("-1 0")}), "7 N");
  EXPECT_EQ(contents("concat", ConcatAttrs(), {values("N"), values("-1")}), "N -1");
  EXPECT_EQ(contents("add", AddAttrs(), {shape, scalar(1)}), "N + 1 4 8");
  EXPECT_EQ(contents("neg", NegAttrs(), {values("N -3")}), "N*-1 3");
  EXPECT_EQ(contents("sub", SubAttrs(), {shape, shape}), "0 0 0");
  EXPECT_EQ(contents("mul", MulAttrs(), {shape, shape}), "N*N 9 49");
  EXPECT_EQ(contents("div", DivAttrs(), {values("N 7 -7"), scalar(2)}), "floordiv(N, 2) 3 -3");
  EXPECT_EQ(contents("div", DivAttrs(), {shape, scalar(0)}), "unknown");
  EXPECT_EQ(contents("div", DivAttrs(), {values(std::to_string(INT64_MIN + 1)), scalar(-1)}), "9223372036854775807");
  EXPECT_EQ(contents("mod", ModAttrs(), {values("7"), scalar(4)}), "3");
  EXPECT_EQ(contents("max", MaxAttrs(), {values("2 9"), scalar(5)}), "5 9");
  EXPECT_EQ(contents("mul", MulAttrs(), {values(std::to_string(INT64_MAX)), scalar(2)}), "unknown"); // overflows
  CastAttrs cast;
  cast.to = ElementType::i32;
  EXPECT_EQ(contents("cast", cast, {shape}), "N 3 7");
  EXPECT_EQ(contents("cast", cast, {values("5000000000")}), "unknown");
  EXPECT_EQ(contents("equal", EqualAttrs(), {values("N -1 3"), scalar(-1)}), "0 1 0");
  EXPECT_EQ(contents("equal", EqualAttrs(), {values("N"), scalar(3)}), "unknown");
  TensorInfo condition{ElementType::boolean, {2}, std::vector<Dim>{1, 0}};
  EXPECT_EQ(contents("where", WhereAttrs(), {condition, n, scalar(5)}), "N 5");
  EXPECT_EQ(contents("not", NotAttrs(), {condition}), "0 1");
  ReshapeAttrs unsqueeze;
  unsqueeze.shape = {1};
  EXPECT_EQ(contents("reshape", unsqueeze, {n}), "N");
  EXPECT_EQ(contents("reduce_prod", ReduceProdAttrs(), {shape}), "N*21");
  SplitAttrs split;
  split.sizes = {1, 2};
  EXPECT_EQ(str(*inferAll("split", split, {shape}).at(1).contents), "3x7");
  EXPECT_EQ(contents("expand", ExpandAttrs(), {n, values("3")}), "N N N");
  EXPECT_EQ(contents("tile", TileAttrs(), {values("N 1"), values("2")}), "N 1 N 1");
}

TEST(Shape, OperandsAndResultsAreChecked) {
  EXPECT_THROW(infer("relu", ReluAttrs(), {}), Error);
  EXPECT_THROW(infer("relu", ReluAttrs(), {absent}), Error);
  EXPECT_THROW(infer("relu", ReluAttrs(), {tensor("f32 1"), tensor("f32 1")}), Error);
  EXPECT_THROW(infer("relu", ReluAttrs(), {tensor("f32 -3")}), Error);
  EXPECT_THROW(infer("tile", with(TileAttrs(), [](auto &a) { a.repeats = {int64_t(1) << 60}; }), {tensor("f32 64")}),
               Error);
  EXPECT_THROW(infer("tile", with(TileAttrs(), [](auto &a) { a.repeats = {int64_t(1) << 50}; }), {tensor("f32 1")}),
               Error);
}

TEST(Shape, FlopsCountAMultiplyAccumulateAsTwo) {
  TensorInfo x = tensor("f32 1 64 56 56"), w = tensor("f32 64 64 3 3");
  ConvAttrs a = with(conv2d(), [](auto &a) { a.strides = {1, 1}, a.pads = {1, 1, 1, 1}; });
  InferResult y = inferAll("conv", a, {x, w});
  EXPECT_EQ(findOp("conv")->flops(a, {&x, &w, nullptr}, {&y[0]}).str(), "225738752"); // 166 of 168 taps an axis
}

TEST(Shape, ExtentsThatDependOnData) {
  EXPECT_EQ(infer("non_zero", NonZeroAttrs(), {tensor("f32 2 3")}), "i64 2 ?");
  expectViolation("non_zero_c1", "non_zero", NonZeroAttrs(), {tensor("string 3")});
  CompressAttrs rows = with(CompressAttrs(), [](auto &a) { a.axis = 0; });
  EXPECT_EQ(infer("compress", rows, {tensor("f32 4 3"), tensor("bool 4")}), "f32 ? 3");
  expectViolation("compress_c1", "compress", with(CompressAttrs(), [](auto &a) { a.axis = 2; }),
                  {tensor("f32 4 3"), tensor("bool 4")});
  expectViolation("compress_c2", "compress", rows, {tensor("f32 4 3"), tensor("i64 4")});
  expectViolation("compress_c2", "compress", rows, {tensor("f32 4 3"), tensor("bool 5")});
  expectViolation("unique_c1", "unique", with(UniqueAttrs(), [](auto &a) { a.axis = 2; }), {tensor("f32 4 3")});

  NonMaxSuppressionAttrs nms;
  TensorInfo boxes = tensor("f32 1 6 4"), scores = tensor("f32 1 2 6");
  EXPECT_EQ(infer("non_max_suppression", nms, {boxes, scores}), "i64 ? 3");
  expectViolation("nms_c1", "non_max_suppression", nms, {tensor("f32 1 6 5"), scores});
  expectViolation("nms_c1", "non_max_suppression", nms, {boxes, tensor("f64 1 2 6")});
  expectViolation("nms_c2", "non_max_suppression", nms, {boxes, scores, tensor("f32 1")});
  expectViolation("nms_c3", "non_max_suppression", with(nms, [](auto &a) { a.center_point_box = 2; }), {boxes, scores});

  ReverseSequenceAttrs reverse = with(ReverseSequenceAttrs(), [](auto &a) { a.batch_axis = 1, a.time_axis = 0; });
  EXPECT_EQ(infer("reverse_sequence", reverse, {tensor("f32 4 3 2"), tensor("i64 3")}), "f32 4 3 2");
  expectViolation("reverse_sequence_c1", "reverse_sequence", reverse, {tensor("f32 4"), tensor("i64 4")});
  expectViolation("reverse_sequence_c1", "reverse_sequence", with(reverse, [](auto &a) { a.time_axis = 1; }),
                  {tensor("f32 4 3"), tensor("i64 3")});
  expectViolation("reverse_sequence_c2", "reverse_sequence", reverse, {tensor("f32 4 3"), tensor("i64 4")});
}

/// The rules that remain for the run, one rule a line.
std::string rules(const char *op, const Attrs &attrs, const std::vector<TensorInfo> &operands) {
  std::vector<ExtentRule> found;
  RuleRecorder recorder(found);
  inferAll(op, attrs, operands);
  std::string text;
  for (const ExtentRule &rule : found)
    text += (text.empty() ? "" : "; ") + str(rule);
  return text;
}

TEST(Shape, ComparisonsOfSymbolsAreRules) {
  EXPECT_EQ(rules("matmul", MatMulAttrs(), {tensor("f32 N K"), tensor("f32 5 M")}), "K equal to 5");
  EXPECT_EQ(rules("matmul", MatMulAttrs(), {tensor("f32 N K"), tensor("f32 K M")}), "");
  EXPECT_EQ(rules("add", AddAttrs(), {tensor("f32 N 4"), tensor("f32 M 1")}), "N equal to M, or either of them 1");
  EXPECT_EQ(rules("add", AddAttrs(), {tensor("f32 4"), tensor("f32 M")}), "M equal to 1 or to 4");
  EXPECT_EQ(rules("arg_max", ArgMaxAttrs(), {tensor("f32 N 4")}), "N at least 1");
  EXPECT_EQ(rules("arg_max", ArgMaxAttrs(), {tensor("f32 4 N")}), "");
  EXPECT_EQ(rules("gather", GatherAttrs(), {tensor("f32 N 4"), tensor("i64 K")}), "N at least min(K*4, 1)");
  // An axis without elements cannot repeat its edge, and stays empty when it is resized.
  PadAttrs edge;
  edge.mode = "edge";
  EXPECT_EQ(rules("pad", with(edge, [](auto &a) { a.pads = {2, -1}; }), {tensor("f32 N")}), "N + -1 at least 1");
  EXPECT_EQ(rules("pad", with(edge, [](auto &a) { a.pads = {0, 0}; }), {tensor("f32 N")}), "");
  EXPECT_EQ(rules("pad", edge, {tensor("f32 4"), values("P Q")}),
            "min(P, 0) + min(Q, 0) + 4 at least min(P + Q + 4, 1)");
  EXPECT_EQ(rules("resize", ResizeAttrs(), {tensor("f32 N"), absent, absent, values("M")}),
            "M at least min(N, 1); N at least min(M, 1)");
  EXPECT_EQ(rules("resize", ResizeAttrs(), {tensor("f32 0"), absent, absent, values("M")}), "0 at least min(M, 1)");
  SpaceToDepthAttrs toDepth;
  toDepth.block_size = 2;
  EXPECT_EQ(rules("space_to_depth", toDepth, {tensor("f32 1 3 H 8")}), "H a multiple of 2");
  EXPECT_EQ(rules("space_to_depth", toDepth, {tensor("f32 1 3 H*2 8")}), "");
  auto reshape = [](std::vector<int64_t> shape) { return with(ReshapeAttrs(), [&](auto &a) { a.shape = shape; }); };
  EXPECT_EQ(rules("reshape", reshape({2, 6}), {tensor("f32 N 4")}), "N*4 equal to 12");
  EXPECT_EQ(rules("reshape", reshape({-1, 6}), {tensor("f32 N 4")}), "N*4 a multiple of 6");
  EXPECT_EQ(rules("reshape", reshape({-1, 2}), {tensor("f32 N 4")}), "");
  // A computed extent that turns out to be 0 would mean the extent of x.
  EXPECT_EQ(rules("reshape", ReshapeAttrs(), {tensor("f32 N 4"), values("N 2 2")}), "");
  EXPECT_EQ(rules("reshape", ReshapeAttrs(), {tensor("f32 3 N"), values("N 3")}), "N at least 1");
  EXPECT_EQ(rules("reshape", ReshapeAttrs(), {tensor("f32 N 4"), values("4 1 N")}), "N at least 1");
  EXPECT_EQ(
      rules("max_pool",
            with(MaxPoolAttrs(),
                 [](auto &a) { a.kernel = {3, 3}, a.strides = {1, 1}, a.dilations = {1, 1}, a.pads = {1, 1, 1, 1}; }),
            {tensor("f32 N 3 H 8")}),
      "H + -1 at least 0");
}

/// After the last test, compares the violated constraints with all declared constraints.
class Constraints : public ::testing::Environment {
  void TearDown() override {
    std::set<std::string> declared;
    for (const auto &file : std::filesystem::recursive_directory_iterator(LATHE_SOURCE_DIR "/src/model/ops")) {
      if (file.path().filename() != "Shape.cpp")
        continue;
      std::stringstream text;
      text << std::ifstream(file.path()).rdbuf();
      std::string source = text.str();
      auto matches = [&](const char *pattern) {
        std::regex regex(pattern);
        std::set<std::string> found;
        for (std::sregex_iterator it(source.begin(), source.end(), regex), end; it != end; ++it)
          found.insert((*it)[1]);
        return found;
      };
      declared.merge(matches("\"([a-z_0-9]+_c[0-9]+)"));
      // Constraints that a shared function checks for several operators, whose names it receives.
      for (const std::string &op : matches("Extents\\(\"([a-z_0-9]+)\""))
        for (const std::string &number : matches("\"\\{\\}(_c[0-9]+)"))
          declared.insert(op + number);
    }
    EXPECT_GT(declared.size(), 50u);
    if (::testing::GTEST_FLAG(filter) == "*") {
      EXPECT_EQ(violated, declared);
    }
  }
};
[[maybe_unused]] const ::testing::Environment *constraints = ::testing::AddGlobalTestEnvironment(new Constraints);

} // namespace
} // namespace lathe
