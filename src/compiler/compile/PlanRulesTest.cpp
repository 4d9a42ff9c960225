// Extents that contradict each other once they are bound: the compiler writes rules, and the runtime rejects other
// extents before anything runs.
#include "compile/PlanRules.h"
#include "compile/Compile.h"
#include "ir/Context.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace lathe {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class PlanRulesTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();

  void SetUp() override { runtime::registerReferences(); }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    return module;
  }

  std::vector<std::string> rules(const std::string &text) {
    auto module = parse(text);
    std::vector<std::string> result;
    for (const nn::NodeRule &entry : nn::extentRules(module->lookupSymbol<mlir::func::FuncOp>("main")))
      result.push_back(str(entry.rule));
    return result;
  }

  runtime::Context compiled(const std::string &text, int level = 3) {
    auto module = parse(text);
    CompileOptions options;
    options.level = level;
    std::vector<char> package;
    compileToBytes(*module, options, package);
    return runtime::Context(runtime::Model::fromBytes(package, "m.lathe"), {1});
  }

  /// Runs on floats of 1 and on `integers`. Returns the first result, or the error.
  static std::string run(runtime::Context &context, const std::vector<std::vector<int64_t>> &dims,
                         int64_t integers = 0) {
    try {
      for (size_t i = 0; i < dims.size(); ++i) {
        Tensor tensor(context.model().inputs()[i].type, dims[i]);
        if (tensor.type() == ElementType::f32)
          std::fill_n(tensor.as<float>(), tensor.elements(), 1.0f);
        else
          std::fill_n(tensor.as<int64_t>(), tensor.elements(), integers);
        context.setInput(i, tensor);
      }
      context.run();
      const Tensor &y = context.output(0).tensor();
      std::string text = fmt::format("{}:", fmt::join(y.dims(), "x"));
      for (int64_t i = 0; i < y.elements(); ++i)
        text += fmt::format(" {}", y.asDouble(i));
      return text;
    } catch (const Error &error) {
      return error.what();
    }
  }
};

constexpr const char *product = R"(
  func.func @main(%a: tensor<?x?xf32> {nn.name = "a", nn.dims = ["N", "K"]},
                  %b: tensor<4x2xf32> {nn.name = "b"}) -> tensor<?x2xf32> {
    %0 = nn.matmul %a, %b : (tensor<?x?xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
    %1 = nn.relu %0 : (tensor<?x2xf32>) -> tensor<?x2xf32>
    return %1 : tensor<?x2xf32>
  })";

TEST_F(PlanRulesTest, ComparisonsThatDependOnSymbolsAreRules) {
  EXPECT_THAT(rules(product), ElementsAre("K equal to 4"));
  EXPECT_THAT(rules(R"(
    func.func @main(%a: tensor<?x3xf32> {nn.dims = ["N", "3"]}, %b: tensor<?x3xf32> {nn.dims = ["N", "3"]}) -> tensor<?x3xf32> {
      %0 = nn.add %a, %b : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
      return %0 : tensor<?x3xf32>
    })"),
              ElementsAre());
  // The type of a result says more than the shape function knows.
  EXPECT_THAT(rules(R"(
    func.func @main(%a: tensor<?xf32> {nn.dims = ["N"]}) -> tensor<5xf32> {
      %0 = nn.relu %a : (tensor<?xf32>) -> tensor<5xf32>
      return %0 : tensor<5xf32>
    })"),
              ElementsAre("N equal to 5"));
}

TEST_F(PlanRulesTest, RulesOfCalledFunctions) {
  EXPECT_THAT(rules(R"(
    func.func private @k(%x: tensor<?x4xf32> {nn.dims = ["N", "4"]}) -> tensor<4xi64> {
      %y = nn.arg_max %x {axis = 0, keepdims = false} : (tensor<?x4xf32>) -> tensor<4xi64>
      %z = nn.relu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
      return %y : tensor<4xi64>
    }
    func.func @main(%x: tensor<?x4xf32> {nn.dims = ["2*N", "4"]}) -> tensor<4xi64> {
      %y = func.call @k(%x) : (tensor<?x4xf32>) -> tensor<4xi64>
      return %y : tensor<4xi64>
    })"),
              ElementsAre("N*2 at least 1"));
}

TEST_F(PlanRulesTest, ContradictingExtentsAreRefused) {
  for (int level : {0, 3}) {
    runtime::Context context = compiled(product, level);
    std::string refused = run(context, {{3, 0}, {4, 2}});
    EXPECT_THAT(refused, AllOf(HasSubstr("m.lathe: "), HasSubstr("expected K equal to 4, got 0 and 4"))) << level;
    EXPECT_EQ(run(context, {{1, 4}, {4, 2}}), "1x2: 4 4") << level; // the context still works
    EXPECT_THAT(run(context, {{1, 5}, {4, 2}}), HasSubstr("got 5 and 4")) << level;
    EXPECT_EQ(run(context, {{0, 4}, {4, 2}}), "0x2:") << level;
  }
}

/// Rules of operators that a pass removes are still checked.
TEST_F(PlanRulesTest, RulesOfOperatorsThatPassesRemove) {
  const char *text = R"(
    func.func @main(%a: tensor<?xf32> {nn.name = "a", nn.dims = ["N"]},
                    %b: tensor<?xf32> {nn.name = "b", nn.dims = ["M"]}) -> tensor<?xf32> {
      %unused = nn.arg_max %b {axis = 0, keepdims = true} : (tensor<?xf32>) -> tensor<1xi64>
      %0 = nn.relu %a : (tensor<?xf32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    })";
  runtime::Context context = compiled(text);
  EXPECT_THAT(run(context, {{2}, {0}}), HasSubstr("expected M at least 1, got 0 and 1 (M = 0)"));
  EXPECT_EQ(run(context, {{2}, {7}}), "2: 1 1");
}

TEST_F(PlanRulesTest, AnIndexIntoNothing) {
  const char *text = R"(
    func.func @main(%x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["N", "2"]},
                    %i: tensor<?xi64> {nn.name = "i", nn.dims = ["K"]}) -> tensor<?x2xf32> {
      %0 = nn.gather %x, %i {axis = 0} : (tensor<?x2xf32>, tensor<?xi64>) -> tensor<?x2xf32>
      return %0 : tensor<?x2xf32>
    })";
  runtime::Context context = compiled(text);
  EXPECT_THAT(run(context, {{0, 2}, {3}}), HasSubstr("expected N at least min(K*2, 1), got 0 and 1"));
  EXPECT_EQ(run(context, {{0, 2}, {0}}), "0x2:");
  EXPECT_EQ(run(context, {{1, 2}, {2}}), "2x2: 1 1 1 1");
}

/// Rules over extents that depend on data are checked as soon as a reference has returned the value.
TEST_F(PlanRulesTest, ExtentsThatDependOnData) {
  const char *text = R"(
    func.func @main(%x: tensor<2x3xf32> {nn.name = "x"}, %s: tensor<2xi64> {nn.name = "s"}) -> tensor<6xf32> {
      %0 = nn.expand %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
      %1 = nn.reshape %0 {shape = array<i64: 6>} : (tensor<?x?xf32>) -> tensor<6xf32>
      %2 = nn.exp %1 : (tensor<6xf32>) -> tensor<6xf32>
      %3 = nn.relu %2 : (tensor<6xf32>) -> tensor<6xf32>
      return %3 : tensor<6xf32>
    })";
  runtime::Context context = compiled(text);
  EXPECT_THAT(run(context, {{2, 3}, {2}}, 1), HasSubstr("6: 2.718"));
  // With s = 2, 2 the reference of expand rejects the run; reshape needs a rule.
  EXPECT_THAT(run(context, {{2, 3}, {2}}, 2), HasSubstr("expand_c1"));
  runtime::Context narrow = compiled(R"(
    func.func @main(%x: tensor<1x1xf32> {nn.name = "x"}, %s: tensor<2xi64> {nn.name = "s"}) -> tensor<9xf32> {
      %0 = nn.expand %x, %s : (tensor<1x1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
      %1 = nn.reshape %0 {shape = array<i64: 9>} : (tensor<?x?xf32>) -> tensor<9xf32>
      %2 = nn.exp %1 : (tensor<9xf32>) -> tensor<9xf32>
      return %2 : tensor<9xf32>
    })");
  EXPECT_THAT(run(narrow, {{1, 1}, {2}}, 3), HasSubstr("9: 2.718"));
  EXPECT_THAT(run(narrow, {{1, 1}, {2}}, 2), AllOf(HasSubstr("equal to 9, got 4 and 9"), HasSubstr(" = 2")));
}

/// If N of the target is 0, it means the operand's extent 3. Only folded constants show this.
TEST_F(PlanRulesTest, ARuleThatFoldedConstantsShow) {
  runtime::Context context = compiled(R"(
    func.func @main(%x: tensor<1x?xf32> {nn.name = "x", nn.dims = ["1", "N"]}) -> tensor<?x3xf32> {
      %c = nn.constant {value = dense<3.0> : tensor<1xf32>} : tensor<1xf32>
      %t = nn.cast %c {to = i64} : (tensor<1xf32>) -> tensor<1xi64>
      %one = nn.constant {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
      %es = nn.concat %t, %one {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
      %e = nn.expand %x, %es : (tensor<1x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
      %n = nn.shape %x {start = 1 : i64} : (tensor<1x?xf32>) -> tensor<1xi64>
      %three = nn.constant {value = dense<3> : tensor<1xi64>} : tensor<1xi64>
      %rs = nn.concat %n, %three {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
      %r = nn.reshape %e, %rs : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x3xf32>
      %y = nn.relu %r : (tensor<?x3xf32>) -> tensor<?x3xf32>
      return %y : tensor<?x3xf32>
    }
  )");
  EXPECT_THAT(run(context, {{1, 0}}), HasSubstr("expected N at least 1, got 0 and 1 (N = 0)"));
  EXPECT_EQ(run(context, {{1, 2}}), "2x3: 1 1 1 1 1 1");
}

TEST_F(PlanRulesTest, OnceAndOnlyOverSymbolsOfInputs) {
  plan::PlanT plan;
  plan.values.push_back(std::make_unique<plan::ValueT>());
  plan.values[0]->dims = {"N", "M*2", "3"};
  plan.inputs = {0};
  std::vector<nn::NodeRule> found;
  for (const char *left : {"N", "M", "?7", "N"})
    found.push_back({{Relation::atLeast, Dim::parse(left), 1}, "node"});
  addRules(plan, found);
  addRules(plan, found);
  ASSERT_EQ(plan.rules.size(), 1u);
  EXPECT_EQ(plan.rules[0]->left, "N");
  EXPECT_EQ(plan.rules[0]->relation, static_cast<uint8_t>(Relation::atLeast));
}

} // namespace
} // namespace lathe
