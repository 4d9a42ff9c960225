// Indices, lengths and coordinates out of range: the compiler writes the ranges that kernels rely on, and the runtime
// rejects other values before the kernel starts.
#include "compile/Compile.h"
#include "ir/Context.h"
#include "runtime/Context.h"
#include "runtime/References.h"
#include "support/ErrorTesting.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ElementRangesTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();

  void SetUp() override { runtime::registerReferences(); }

  runtime::Context compiled(const std::string &text, int level = 3) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    CompileOptions options;
    options.level = level;
    std::vector<char> package;
    compileToBytes(*module, options, package);
    return runtime::Context(runtime::Model::fromBytes(package, "m.lathe"), {2});
  }

  /// Runs with the given integers as the first input and floats 0, 1, ... Returns the first result, or the error.
  static std::string run(runtime::Context &context, const std::vector<int64_t> &integers) {
    try {
      for (size_t i = 0; i < context.model().inputs().size(); ++i) {
        const auto &input = context.model().inputs()[i];
        std::vector<int64_t> dims;
        for (const Dim &dim : input.dims)
          dims.push_back(dim.constantOr(static_cast<int64_t>(integers.size())));
        Tensor values(ElementType::f64, dims);
        for (int64_t j = 0; j < values.elements(); ++j)
          values.as<double>()[j] = i == 0 ? double(integers.at(static_cast<size_t>(j))) : double(j);
        context.setInput(i, values.convertedTo(input.type));
      }
      context.run();
      const Tensor &y = context.output(0).tensor();
      std::string text;
      for (int64_t i = 0; i < y.elements(); ++i)
        text += fmt::format("{}{}", i ? " " : "", y.asDouble(i));
      return text;
    } catch (const Error &error) {
      return error.what();
    }
  }

  /// A function of the integers %i and the floats %x and %u, with one operator.
  static std::string function(const std::string &i, const std::string &x, const std::string &u, const std::string &op,
                              const std::string &y) {
    std::string operands = "%x, %i", types = fmt::format("tensor<{}>, tensor<{}>", x, i), third;
    if (!u.empty()) {
      operands += ", %u";
      types += fmt::format(", tensor<{}>", u);
      third = fmt::format(", %u: tensor<{}> {{nn.name = \"u\"}}", u);
    }
    size_t at = op.find(' ');
    return fmt::format("func.func @main(%i: tensor<{}> {{nn.name = \"i\"}}, %x: tensor<{}> {{nn.name = \"x\"}}{}) -> "
                       "tensor<{}> {{\n  %y = nn.{} {} {} : ({}) -> tensor<{}> loc(\"node\")\n  return %y : "
                       "tensor<{}>\n}}",
                       i, x, third, y, op.substr(0, at), operands, op.substr(at + 1), types, y, y);
  }
};

TEST_F(ElementRangesTest, OperatorsThatReadAndWriteAtIndices) {
  struct {
    std::string text;
    std::vector<int64_t> inside, outside;
    const char *result, *expected;
  } cases[] = {{function("3xi64", "4x2xf32", "", "gather {axis = 0 : i64}", "3x2xf32"),
                {0, -1, 3},
                {0, 4, 9},
                "0 1 6 7 6 7",
                "indices[1] is 4, expected a number from -4 to 3"},
               {function("2x3xi32", "2x4xf32", "", "gather_elements {axis = 1 : i64}", "2x3xf32"),
                {0, -4, 3, 1, 1, 2},
                {0, 0, 0, 0, 0, -5},
                "0 0 3 5 5 6",
                "indices[5] is -5, expected a number from -4 to 3"},
               {function("2x2xi64", "2x4xf32", "", "gather_nd {}", "2xf32"),
                {0, 3, 1, -1},
                {0, 3, 2, -1},
                "3 7",
                "indices[2] is 2, expected a number from -2 to 1"},
               {function("3xi64", "4xf32", "3xf32", "scatter_elements {axis = 0 : i64, reduction = \"add\"}", "4xf32"),
                {1, 1, -1},
                {1, 1, -6},
                "0 2 2 5",
                "indices[2] is -6, expected a number from -4 to 3"},
               {function("2x1xi64", "3x2xf32", "2x2xf32", "scatter_nd {reduction = \"max\"}", "3x2xf32"),
                {0, 0},
                {0, 3},
                "2 3 2 3 4 5",
                "indices[1] is 3, expected a number from -3 to 2"},
               {function("2xi64", "3x2xf32", "", "reverse_sequence {}", "3x2xf32"),
                {3, 0},
                {3, 4},
                "4 1 2 3 0 5",
                "sequence_lens[1] is 4, expected a number from 0 to 3"},
               {function("1x1x2xi64", "1x1x2xf32", "",
                         "max_unpool {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, "
                         "operandSegmentSizes = array<i32: 1, 1, 0>}",
                         "1x1x4xf32"),
                {3, 1},
                {3, -1},
                "0 1 0 0",
                "indices[1] is -1, expected a number from 0 to 3"}};
  for (const auto &one : cases) {
    runtime::Context whole = compiled(one.text);
    EXPECT_EQ(run(whole, one.inside), one.result) << one.text;
    EXPECT_THAT(run(whole, one.outside), AllOf(HasSubstr("m.lathe: 'node': "), HasSubstr(one.expected))) << one.text;
    EXPECT_EQ(run(whole, one.inside), one.result) << "after an error: " << one.text;
  }
}

TEST_F(ElementRangesTest, RegionsAndTheirImages) {
  auto text = [](const char *rest) {
    return fmt::format("func.func @main(%b: tensor<2xi64> {{nn.name = \"b\"}}, %x: tensor<2x1x2x2xf32> {{nn.name = "
                       "\"x\"}}, %r: tensor<2x4xf32> {{nn.name = \"r\"}}) -> tensor<2x1x1x1xf32> {{\n{}"
                       "  %y = nn.roi_align %x, %s, %b {{sampling_ratio = 1 : i64}} : (tensor<2x1x2x2xf32>, "
                       "tensor<2x4xf32>, tensor<2xi64>) -> tensor<2x1x1x1xf32> loc(\"node\")\n  return %y : "
                       "tensor<2x1x1x1xf32>\n}}",
                       rest);
  };
  runtime::Context plain = compiled(text("  %s = nn.abs %r : (tensor<2x4xf32>) -> tensor<2x4xf32>\n"));
  EXPECT_EQ(run(plain, {0, 1}), "2.5 0"); // one sample at row 1.5, column 0.5; the second region is beside the image
  EXPECT_THAT(run(plain, {0, 2}), HasSubstr("batch_indices[1] is 2, expected a number from 0 to 1"));
  EXPECT_THAT(run(plain, {-1, 0}), HasSubstr("batch_indices[0] is -1, expected a number from 0 to 1"));
  runtime::Context far = compiled(text("  %s = nn.exp %r : (tensor<2x4xf32>) -> tensor<2x4xf32>\n"));
  EXPECT_EQ(run(far, {0, 1}), "0 0");
  runtime::Context wild = compiled(text("  %s = nn.log %r : (tensor<2x4xf32>) -> tensor<2x4xf32>\n"));
  EXPECT_THAT(run(wild, {0, 1}), HasSubstr("rois[0] is -inf, expected a number from -999999998 to 999999998"));
}

/// Indices that an earlier kernel computes, with extents that are unknown when the model is compiled.
TEST_F(ElementRangesTest, ComputedIndices) {
  runtime::Context context = compiled(R"(
    func.func @main(%i: tensor<?xi64> {nn.name = "i", nn.dims = ["K"]},
                    %x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["K", "2"]}) -> tensor<?x2xf32> {
      %j = nn.add %i, %i : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
      %0 = nn.gather %x, %j {axis = 0} : (tensor<?x2xf32>, tensor<?xi64>) -> tensor<?x2xf32> loc("node")
      %1 = nn.relu %0 : (tensor<?x2xf32>) -> tensor<?x2xf32>
      return %1 : tensor<?x2xf32>
    })");
  EXPECT_EQ(run(context, {1, 0, -1}), "4 5 0 1 2 3");
  EXPECT_THAT(run(context, {1, 0, 2}), HasSubstr("'node': indices[2] is 4, expected a number from -3 to 2"));
  EXPECT_EQ(run(context, {1, 0, 2, 0, 0}), "4 5 0 1 8 9 0 1 0 1");
}

TEST_F(ElementRangesTest, OnlyTheBranchThatRuns) {
  runtime::Context context = compiled(R"(
    module {
      module @then {
        func.func @main(%x: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
          %0 = nn.gather %x, %i {axis = 0 : i64} : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32> loc("node")
          %1 = nn.exp %0 : (tensor<2xf32>) -> tensor<2xf32>
          %2 = nn.log %1 : (tensor<2xf32>) -> tensor<2xf32>
          %3 = nn.round %2 : (tensor<2xf32>) -> tensor<2xf32>
          return %3 : tensor<2xf32>
        }
      }
      module @else {
        func.func @main(%x: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
          %0 = nn.cast %i {to = f32} : (tensor<2xi64>) -> tensor<2xf32>
          return %0 : tensor<2xf32>
        }
      }
      func.func @main(%i: tensor<2xi64> {nn.name = "i"}, %x: tensor<4xf32> {nn.name = "x"},
                      %c: tensor<2xf32> {nn.name = "c"}) -> tensor<2xf32> {
        %s = nn.reduce_max %i {keepdims = false, operandSegmentSizes = array<i32: 1, 0>} : (tensor<2xi64>) -> tensor<i64>
        %limit = nn.constant {value = dense<100> : tensor<i64>} : tensor<i64>
        %p = nn.less %s, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %0 = nn.if %p, %x, %i {then_body = @then, else_body = @else}
            : (tensor<i1>, tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      }
    })");
  EXPECT_EQ(run(context, {3, -4}), "3 0");
  EXPECT_THAT(run(context, {3, 99}), HasSubstr("'node': indices[1] is 99, expected a number from -4 to 3"));
  EXPECT_EQ(run(context, {100, 2}), "100 2");
}

/// Iteration n reads element 2 n: in the third iteration it is out of range.
TEST_F(ElementRangesTest, IndicesOfIterations) {
  runtime::Context context = compiled(R"(
    module {
      module @body {
        func.func @main(%n: tensor<i64>, %c: tensor<i1>, %v: tensor<1xf32>, %x: tensor<4xf32>) -> (tensor<i1>, tensor<1xf32>) {
          %shape = nn.constant {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
          %m = nn.add %n, %n : (tensor<i64>, tensor<i64>) -> tensor<i64>
          %i = nn.reshape %m, %shape : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
          %0 = nn.gather %x, %i {axis = 0 : i64} : (tensor<4xf32>, tensor<1xi64>) -> tensor<1xf32> loc("node")
          %1 = nn.add %0, %v : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
          return %c, %1 : tensor<i1>, tensor<1xf32>
        }
      }
      func.func @main(%n: tensor<i64> {nn.name = "n"}, %x: tensor<4xf32> {nn.name = "x"},
                      %v: tensor<1xf32> {nn.name = "v"}) -> tensor<1xf32> {
        %true = nn.constant {value = dense<true> : tensor<i1>} : tensor<i1>
        %0 = nn.loop %n, %true, %v, %x {body = @body, carried = 1 : i64}
            : (tensor<i64>, tensor<i1>, tensor<1xf32>, tensor<4xf32>) -> tensor<1xf32>
        return %0 : tensor<1xf32>
      }
    })");
  EXPECT_EQ(run(context, {2}), "2");
  EXPECT_THAT(run(context, {3}), HasSubstr("'node': indices[0] is 4, expected a number from -4 to 3"));
  EXPECT_EQ(run(context, {1}), "0");
}

/// A constant is checked once, when the model is compiled, but only a run fails, because the node may be in a branch.
TEST_F(ElementRangesTest, ConstantIndices) {
  auto text = [](const char *indices) {
    return fmt::format(R"(
      func.func @main(%n: tensor<1xi64> {{nn.name = "n"}}, %x: tensor<3x2xf32> {{nn.name = "x"}}) -> tensor<3x2xf32> {{
        %i = nn.constant {{value = dense<{}> : tensor<3xi64>}} : tensor<3xi64>
        %0 = nn.gather %x, %i {{axis = 0 : i64}} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32> loc("node")
        %1 = nn.neg %0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
        return %1 : tensor<3x2xf32>
      }})",
                       indices);
  };
  runtime::Context inside = compiled(text("[2, -3, 1]"));
  EXPECT_EQ(run(inside, {0}), "-4 -5 -0 -1 -2 -3");
  for (int level : {0, 3}) {
    runtime::Context consecutive = compiled(text("[1, 2, 3]"), level);
    EXPECT_THAT(run(consecutive, {0}), AllOf(HasSubstr("node"), HasSubstr("3"), HasSubstr("2"))) << level;
    EXPECT_THAT(run(consecutive, {0}), testing::Not(HasSubstr("-2 -3 -4"))) << level;
  }
}

} // namespace
} // namespace lathe
