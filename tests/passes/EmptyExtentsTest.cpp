// Values without elements, compiled beside the interpreter: equal results, or an error from both.
#include "tests/passes/CompiledGraph.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using EmptyExtents = CompiledGraph;

/// Nothing computes them, but the run tells their other extents.
TEST_F(EmptyExtents, otherExtentsThatTheRunTells) {
  expectResult("func.func @main(%x: tensor<0x3xf32>, %c: tensor<3xi1>) -> tensor<0x?xf32> {\n"
               "%0 = nn.compress %x, %c {axis = 1 : i64} : (tensor<0x3xf32>, tensor<3xi1>) -> tensor<0x?xf32>\n"
               "return %0 : tensor<0x?xf32>\n}",
               {reals({0, 3}), integers({3}, {1, 0, 1}).convertedTo(ElementType::boolean)}, "0x2:");
  std::string strings = "func.func @main(%x: tensor<0x1x!nn.string>, %t: tensor<2xi64>) -> tensor<0x?x!nn.string> {\n"
                        "%0 = nn.tile %x, %t : (tensor<0x1x!nn.string>, tensor<2xi64>) -> tensor<0x?x!nn.string>\n"
                        "return %0 : tensor<0x?x!nn.string>\n}";
  expectResult(strings, {Tensor(ElementType::string, {0, 1}), integers({2}, {1, 3})}, "0x3:");
}

/// What is behind them gets them as operands.
TEST_F(EmptyExtents, operandsThatNothingComputes) {
  expectResult("func.func @main(%x: tensor<0x3xf32>, %t: tensor<2xi64>) -> tensor<?xf32> {\n"
               "%0 = nn.tile %x, %t : (tensor<0x3xf32>, tensor<2xi64>) -> tensor<0x?xf32>\n"
               "%1 = nn.reduce_sum %0 {axes = array<i64: 0>, keepdims = false} : (tensor<0x?xf32>) -> tensor<?xf32>\n"
               "return %1 : tensor<?xf32>\n}",
               {reals({0, 3}), integers({2}, {1, 2})}, "6: 0 0 0 0 0 0");
}

/// The rules over the extents of operands hold where nothing is computed, too.
TEST_F(EmptyExtents, whatDoesNotFitIsRefusedWhereNothingIsComputed) {
  std::string text = "func.func @main(%x: tensor<1x0xf32>, %t: tensor<2xi64>) -> tensor<?x0xf32> {\n"
                     "%0 = nn.expand %x, %t : (tensor<1x0xf32>, tensor<2xi64>) -> tensor<?x0xf32>\n"
                     "return %0 : tensor<?x0xf32>\n}";
  expectResult(text, {reals({1, 0}), integers({2}, {4, 1})}, "4x0:");
  expectErrors(text, {reals({1, 0}), integers({2}, {4, 3})}, "expand_c1", "equal to 1 or to 0, got 3 and 0");
  std::string last = "func.func @main(%x: tensor<1x3x0xf32>, %t: tensor<2xi64>) -> tensor<?x?x?xf32> {\n"
                     "%0 = nn.expand %x, %t : (tensor<1x3x0xf32>, tensor<2xi64>) -> tensor<?x?x?xf32>\n"
                     "return %0 : tensor<?x?x?xf32>\n}";
  expectResult(last, {reals({1, 3, 0}), integers({2}, {1, 1})}, "1x3x0:");
  expectErrors(last, {reals({1, 3, 0}), integers({2}, {1, 3})}, "expand_c1", "expand_c1");
  std::string sum = "func.func @main(%x: tensor<4xf32>, %b: tensor<4xi1>, %z: tensor<0xf32>) -> tensor<0xf32> {\n"
                    "%0 = nn.compress %x, %b : (tensor<4xf32>, tensor<4xi1>) -> tensor<?xf32>\n"
                    "%1 = nn.add %0, %z : (tensor<?xf32>, tensor<0xf32>) -> tensor<0xf32>\n"
                    "return %1 : tensor<0xf32>\n}";
  auto kept = [](int64_t count) {
    return integers({4}, {count > 0, count > 1, count > 2, count > 3}).convertedTo(ElementType::boolean);
  };
  expectResult(sum, {reals({4}), kept(1), reals({0})}, "0:");
  expectErrors(sum, {reals({4}), kept(2), reals({0})}, "binary_c2", "equal to 1 or to 0, got 2 and 0");
}

/// Where no result has elements, an index may be any number.
TEST_F(EmptyExtents, indicesOfNothing) {
  auto gather = [](const char *x) {
    return fmt::format("func.func @main(%x: tensor<?x?xf32> {{nn.dims = [\"N\", \"M\"]}}, %i: tensor<2xi64>) -> "
                       "tensor<2x?xf32> {{\n%0 = nn.{} : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<2x?xf32>\n"
                       "return %0 : tensor<2x?xf32>\n}}",
                       x);
  };
  std::string rows = gather("gather %x, %i {axis = 0 : i64}");
  expectResult(rows, {reals({0, 0}), integers({2}, {0, 7})}, "2x0:");
  expectResult(rows, {reals({3, 1}), integers({2}, {0, 2})}, "2x1: 1 3");
  expectErrors(rows, {reals({3, 1}), integers({2}, {0, 7})}, "index 7 is outside [-3, 3)",
               "indices[1] is 7, expected a number from -3 to 2");
  std::string scatter = "func.func @main(%x: tensor<?x3xf32> {nn.dims = [\"N\", \"3\"]}, %i: tensor<2x1xi64>, "
                        "%u: tensor<2x3xf32>) -> tensor<?x3xf32> {\n"
                        "%0 = nn.scatter_nd %x, %i, %u : (tensor<?x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> "
                        "tensor<?x3xf32>\nreturn %0 : tensor<?x3xf32>\n}";
  expectResult(scatter, {reals({0, 3}), integers({2, 1}, {0, 1}), reals({2, 3})}, "0x3:");
  std::string columns = "func.func @main(%x: tensor<1x?xf32> {nn.dims = [\"1\", \"N\"]}, %i: tensor<1x2xi64>, "
                        "%u: tensor<1x2xf32>) -> tensor<1x?xf32> {\n"
                        "%0 = nn.scatter_elements %x, %i, %u {axis = 1 : i64} : (tensor<1x?xf32>, tensor<1x2xi64>, "
                        "tensor<1x2xf32>) -> tensor<1x?xf32>\nreturn %0 : tensor<1x?xf32>\n}";
  expectResult(columns, {reals({1, 0}), integers({1, 2}, {0, 9}), reals({1, 2})}, "1x0:");
  expectResult(columns, {reals({1, 3}), integers({1, 2}, {0, -1}), reals({1, 2})}, "1x3: 1 2 2");
  expectErrors(scatter, {reals({1, 3}), integers({2, 1}, {0, 1}), reals({2, 3})}, "index 1 is outside [-1, 1)",
               "indices[1] is 1, expected a number from -1 to 0");
}

TEST_F(EmptyExtents, resizedByScales) {
  std::string text =
      "func.func @main(%x: tensor<1x?xf32> {nn.dims = [\"1\", \"N\"]}, %s: tensor<2xf32>) -> tensor<?x?xf32> {\n"
      "%0 = nn.resize %x, %s {coordinate_mode = \"asymmetric\", mode = \"nearest\", nearest_mode = \"floor\", "
      "operandSegmentSizes = array<i32: 1, 0, 1, 0>} : (tensor<1x?xf32>, tensor<2xf32>) -> tensor<?x?xf32>\n"
      "return %0 : tensor<?x?xf32>\n}";
  Tensor scales = Tensor::of<float>({2}, {1, 2});
  expectResult(text, {reals({1, 0}), scales}, "1x0:");
  expectResult(text, {reals({1, 2}), scales}, "1x4: 1 1 2 2");
}

TEST_F(EmptyExtents, nothingToRepeatInFrontAndBehind) {
  for (const char *mode : {"edge", "reflect", "wrap"}) {
    std::string text =
        fmt::format("func.func @main(%x: tensor<?xf32> {{nn.dims = [\"N\"]}}, %p: tensor<2xi64>) -> tensor<?xf32> {{\n"
                    "%0 = nn.pad %x, %p {{mode = \"{}\", operandSegmentSizes = array<i32: 1, 1, 0>}} : "
                    "(tensor<?xf32>, tensor<2xi64>) -> tensor<?xf32>\nreturn %0 : tensor<?xf32>\n}}",
                    mode);
    expectErrors(text, {reals({0}), integers({2}, {1, 1})}, "pad_c5", "the inputs' extents do not fit");
    expectErrors(text, {reals({1}), integers({2}, {-1, 1})}, "pad_c5", "the inputs' extents do not fit");
    expectResult(text, {reals({0}), integers({2}, {0, 0})}, "0:");
    expectResult(text, {reals({3}), integers({2}, {-3, 0})}, "0:");
    expectResult(text, {reals({2}), integers({2}, {1, 0})}, mode[0] == 'e' ? "3: 1 1 2" : "3: 2 1 2");
  }
}

/// An extent that is copied counts on neither side of the division that gives -1.
TEST_F(EmptyExtents, whatIsLeftBesideACopiedExtent) {
  std::string text = "func.func @main(%x: tensor<2x?x4xf32> {nn.dims = [\"2\", \"N\", \"4\"]}, %t: tensor<4xi64>) -> "
                     "tensor<?x?x?x?xf32> {\n%0 = nn.reshape %x, %t : (tensor<2x?x4xf32>, tensor<4xi64>) -> "
                     "tensor<?x?x?x?xf32>\nreturn %0 : tensor<?x?x?x?xf32>\n}";
  expectResult(text, {reals({2, 0, 4}), integers({4}, {2, 0, 1, -1})}, "2x0x1x4:");
  expectResult(text, {reals({2, 0, 4}), integers({4}, {0, 0, 2, -1})}, "2x0x2x2:");
  expectResult(text, {reals({2, 0, 4}), integers({4}, {1, -1, 2, 3})}, "1x0x2x3:");
  expectResult(text, {reals({2, 1, 4}), integers({4}, {-1, 0, 2, 1})}, "4x1x2x1: 1 2 3 4 5 6 7 8");
}

/// An extent of another tensor beside -1. Where it is 0 it would stand for the extent of x: compiled code does not ask.
TEST_F(EmptyExtents, anotherExtentBesideOneThatIsLeft) {
  std::string text =
      "func.func @main(%q: tensor<?xf32> {nn.dims = [\"N\"]}, %x: tensor<2x2x2xf32>) -> tensor<2x?x?xf32> {\n"
      "%n = nn.shape %q : (tensor<?xf32>) -> tensor<1xi64>\n"
      "%two = nn.constant {value = dense<2> : tensor<1xi64>} : tensor<1xi64>\n"
      "%rest = nn.constant {value = dense<-1> : tensor<1xi64>} : tensor<1xi64>\n"
      "%t = nn.concat %two, %n, %rest {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) "
      "-> tensor<3xi64>\n"
      "%y = nn.reshape %x, %t : (tensor<2x2x2xf32>, tensor<3xi64>) -> tensor<2x?x?xf32>\n"
      "return %y : tensor<2x?x?xf32>\n}";
  expectResult(text, {reals({4}), reals({2, 2, 2})}, "2x4x1: 1 2 3 4 5 6 7 8");
  expectErrors(text, {reals({3}), reals({2, 2, 2})}, "reshape_c1", "the inputs' extents do not fit");
  EXPECT_THAT(compiled(text, {reals({0}), reals({2, 2, 2})}), HasSubstr("expected N at least 1, got 0 and 1"));
}

/// The body would take its step of an axis without elements; it never runs.
TEST_F(EmptyExtents, iterationsOverNothing) {
  std::string text = R"(
    module {
      module @body {
        func.func @main(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<2xf32>, %x: tensor<?x2xf32> {nn.dims = ["N", "2"]})
            -> (tensor<i1>, tensor<2xf32>, tensor<2xf32>) {
          %0 = nn.gather %x, %i {axis = 0 : i64} : (tensor<?x2xf32>, tensor<i64>) -> tensor<2xf32>
          %1 = nn.add %s, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          return %c, %1, %1 : tensor<i1>, tensor<2xf32>, tensor<2xf32>
        }
      }
      func.func @main(%s: tensor<2xf32>, %x: tensor<?x2xf32> {nn.dims = ["N", "2"]})
          -> (tensor<2xf32>, tensor<?x2xf32>) {
        %true = nn.constant {value = dense<true> : tensor<i1>} : tensor<i1>
        %0 = nn.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<?x2xf32>) -> tensor<1xi64>
        %n = nn.reshape %0 {shape = array<i64>} : (tensor<1xi64>) -> tensor<i64>
        %1:2 = nn.loop %n, %true, %s, %x {body = @body, carried = 1 : i64}
            : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<?x2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>)
        return %1#0, %1#1 : tensor<2xf32>, tensor<?x2xf32>
      }
    })";
  expectResult(text, {reals({2}), reals({0, 2})}, "2: 1 2");
  expectResult(text, {reals({2}), reals({2, 2})}, "2: 5 8");
}

TEST_F(EmptyExtents, attentionWithoutKeysIsZero) {
  std::string text =
      "func.func @main(%q: tensor<2x4xf32>, %k: tensor<?x4xf32> {nn.dims = [\"N\", \"4\"]}, %v: tensor<?x1xf32> "
      "{nn.dims = [\"N\", \"1\"]}) -> tensor<2x1xf32> {\n"
      "%0 = nn.attention %q, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<2x4xf32>, "
      "tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<2x1xf32>\nreturn %0 : tensor<2x1xf32>\n}";
  expectResult(text, {reals({2, 4}), reals({0, 4}), reals({0, 1})}, "2x1: 0 0");
  expectResult(text, {reals({2, 4}), reals({1, 4}), reals({1, 1})}, "2x1: 1 1");
}

} // namespace
} // namespace lathe
