// Symbols that the run binds where bodies and formulas use them: programs that random ones (tests/programs) have found,
// compiled at every level, beside the references.
#include "compile/Compile.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lathe {
namespace {

class LateSymbols : public testing::Test {
protected:
  void SetUp() override { runtime::registerReferences(); }

  static Tensor integers(std::vector<int64_t> dims, std::vector<int64_t> values) {
    return Tensor::of<int64_t>(std::move(dims), std::span<const int64_t>(values));
  }
  /// 0, 0.25, ... 1, 0, ....
  static Tensor reals(std::vector<int64_t> dims) {
    Tensor tensor(ElementType::f32, std::move(dims));
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.as<float>()[i] = static_cast<float>(i % 5) / 4;
    return tensor;
  }

  static void check(const std::string &text, const std::vector<std::vector<Value>> &runs) {
    auto context = makeContext();
    auto parsed = [&] { return mlir::parseSourceString<mlir::ModuleOp>(text, context.get()); };
    for (int level = 0; level <= 4; ++level) {
      SCOPED_TRACE(fmt::format("level {}", level));
      auto module = parsed();
      ASSERT_TRUE(module);
      CompileOptions options;
      options.level = level;
      std::vector<char> bytes;
      compileToBytes(*module, options, bytes);
      runtime::Context running(runtime::Model::fromBytes(bytes, "symbols.lathe"), {});
      for (const std::vector<Value> &inputs : runs) {
        Tensor expected = evaluate(*parsed(), inputs)[0].tensor(), result = running.run(inputs)[0].tensor();
        ASSERT_EQ(result.dims(), expected.dims());
        for (int64_t i = 0; i < expected.elements(); ++i)
          EXPECT_NEAR(result.asDouble(i), expected.asDouble(i),
                      (level == 4 ? 1e-2 : 1e-4) * (1 + std::abs(expected.asDouble(i))));
      }
    }
  }
};

/// The end is a formula of the input's extents whose sign nobody knows.
TEST_F(LateSymbols, sliceToAFormula) {
  std::string text =
      "func.func @main(%x: tensor<?x4xf32> {nn.dims = [\"N\", \"4\"]}) -> tensor<?x4xf32> {\n"
      "%0 = nn.shape %x {end = 1 : i64} : (tensor<?x4xf32>) -> tensor<1xi64>\n"
      "%1 = nn.constant {value = dense<5> : tensor<1xi64>} : tensor<1xi64>\n"
      "%2 = nn.mod %0, %1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>\n"
      "%3 = nn.slice %x, %2 {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>, starts = array<i64: 0>, axes = "
      "array<i64: 0>} : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<?x4xf32>\n"
      "%4 = nn.neg %3 : (tensor<?x4xf32>) -> tensor<?x4xf32>\nreturn %4 : tensor<?x4xf32>\n}";
  std::vector<std::vector<Value>> runs;
  for (int64_t rows : {3, 5, 9, 17})
    runs.push_back({reals({rows, 4})});
  check(text, runs);
}

/// The inner loop collects values whose extent was bound before the outer one: it stays bound in the next iteration.
TEST_F(LateSymbols, anExtentOfAroundTheLoop) {
  constexpr const char *text = R"(
module {
  module @outer {
    module @inner {
      func.func @main(%i: tensor<i64>, %c: tensor<i1>, %m: tensor<1x?xf32>) -> (tensor<i1>, tensor<1x?xf32>) {
        %one = nn.constant {value = dense<1> : tensor<i64>} : tensor<i64>
        %0 = nn.less %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i1>
        return %0, %m : tensor<i1>, tensor<1x?xf32>
      }
    }
    func.func @main(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<f32>, %m: tensor<1x?xf32>)
        -> (tensor<i1>, tensor<f32>) {
      %nine = nn.constant {value = dense<9> : tensor<i64>} : tensor<i64>
      %0 = nn.exp %m : (tensor<1x?xf32>) -> tensor<1x?xf32>
      %1 = nn.reduce_sum %0 {axes = array<i64: 0, 1>, keepdims = false} : (tensor<1x?xf32>) -> tensor<f32>
      %2 = nn.loop %nine, %c, %m {body = @inner, carried = 0 : i64} : (tensor<i64>, tensor<i1>, tensor<1x?xf32>)
          -> tensor<?x1x?xf32>
      %3 = nn.reduce_sum %2 {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<?x1x?xf32>) -> tensor<f32>
      %4 = nn.add %1, %3 : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %5 = nn.add %v, %4 : (tensor<f32>, tensor<f32>) -> tensor<f32>
      return %c, %5 : tensor<i1>, tensor<f32>
    }
  }
  func.func @main(%n: tensor<i64>, %x: tensor<8xf32>, %y: tensor<f32>) -> tensor<f32> {
    %true = nn.constant {value = dense<true> : tensor<i1>} : tensor<i1>
    %0 = nn.non_zero %x : (tensor<8xf32>) -> tensor<1x?xi64> loc("nz")
    %1 = nn.cast %0 {to = f32} : (tensor<1x?xi64>) -> tensor<1x?xf32>
    %2 = nn.loop %n, %true, %y, %1 {body = @outer, carried = 1 : i64}
        : (tensor<i64>, tensor<i1>, tensor<f32>, tensor<1x?xf32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
})";
  std::vector<std::vector<Value>> runs;
  for (int64_t count : {3, 0, 2})
    runs.push_back({integers({}, {count}), reals({8}), reals({})});
  check(text, runs);
}

/// That the first branch gives four columns is known only when its bodies have been optimised; the second branch captures
/// what it gives.
TEST_F(LateSymbols, aBranchBehindABranch) {
  constexpr const char *text = R"(
module {
  module @all {
    func.func @main(%v: tensor<?x4xf32>) -> tensor<?x?xf32> {
      %0 = nn.shape %v : (tensor<?x4xf32>) -> tensor<2xi64>
      %1 = nn.reshape %v, %0 {allow_zero = true} : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
      return %1 : tensor<?x?xf32>
    }
  }
  module @some {
    func.func @main(%v: tensor<?x4xf32>) -> tensor<?x?xf32> {
      %0 = nn.slice %v {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, starts = array<i64: 0>, ends = array<i64: 2>,
          axes = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
      %1 = nn.shape %0 : (tensor<?x4xf32>) -> tensor<2xi64>
      %2 = nn.reshape %0, %1 {allow_zero = true} : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
      return %2 : tensor<?x?xf32>
    }
  }
  module @power {
    func.func @main(%m: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %0 = nn.exp %m : (tensor<?x?xf32>) -> tensor<?x?xf32>
      return %0 : tensor<?x?xf32>
    }
  }
  module @row {
    func.func @main(%m: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %0 = nn.reduce_sum %m {axes = array<i64: 0>} : (tensor<?x?xf32>) -> tensor<1x?xf32>
      %1 = nn.concat %m, %0 {axis = 0 : i64} : (tensor<?x?xf32>, tensor<1x?xf32>) -> tensor<?x?xf32>
      return %1 : tensor<?x?xf32>
    }
  }
  func.func @main(%a: tensor<i1>, %b: tensor<i1>, %x: tensor<?x4xf32> {nn.dims = ["N", "4"]}) -> tensor<?x?xf32> {
    %0 = nn.if %a, %x {then_body = @all, else_body = @some} : (tensor<i1>, tensor<?x4xf32>) -> tensor<?x?xf32> loc("one")
    %1 = nn.if %b, %0 {then_body = @power, else_body = @row} : (tensor<i1>, tensor<?x?xf32>) -> tensor<?x?xf32>
    return %1 : tensor<?x?xf32>
  }
})";
  auto flag = [](bool value) { return integers({}, {value}).convertedTo(ElementType::boolean); };
  std::vector<std::vector<Value>> runs;
  for (int which = 0; which < 4; ++which)
    runs.push_back({flag(which & 1), flag(which & 2), reals({3, 4})});
  check(text, runs);
}

} // namespace
} // namespace lathe
