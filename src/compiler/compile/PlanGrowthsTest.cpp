// Outputs that a plan lets grow in place, from graphs.
#include "compile/Kernels.h"
#include "compile/PlanBuilder.h"
#include "ir/Context.h"
#include "passes/Pipeline.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

class PlanGrowthsTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  package::Constants constants;
  BuiltPlan built;
  PipelineReport report;

  const plan::PlanT &plan(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    Target target = Target::parse("x86-64-v3");
    ScheduleBook schedules;
    KernelLibrary library(target, {}, schedules);
    PipelineOptions options;
    options.level = 2;
    options.declines = [&](mlir::func::FuncOp kernel) { return library.declines(kernel); };
    optimizeGraph(*module, options);
    report = formKernels(*module, options);
    built = buildPlan(*module, library, constants);
    return *built.plan;
  }
  static std::string decoder(const std::string &more, const std::string &results = "", const std::string &types = "") {
    return R"(
      func.func @main(%q: tensor<?x2x1x4xf32> {nn.name = "q", nn.dims = ["N", "2", "1", "4"]},
                      %p: tensor<?x2x?x4xf32> {nn.name = "past", nn.dims = ["N", "2", "P", "4"]})
          -> (tensor<?x2x1x4xf32> {nn.name = "y"}, tensor<?x2x?x4xf32> {nn.name = "present"})" +
           types + R"() {
        %k = nn.concat %p, %q {axis = 2 : i64} : (tensor<?x2x?x4xf32>, tensor<?x2x1x4xf32>) -> tensor<?x2x?x4xf32>
        %y = nn.attention %q, %k, %k {scale = 0.5 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} :
          (tensor<?x2x1x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x1x4xf32>
        )" +
           more + "return %y, %k" + results + " : tensor<?x2x1x4xf32>, tensor<?x2x?x4xf32>" + types + "\n}";
  }
  std::string reason() const { return report.notGrowing.size() == 1 ? report.notGrowing[0].reason : ""; }
};

TEST_F(PlanGrowthsTest, keysOfADecoderGrow) {
  const plan::PlanT &p = plan(decoder(""));
  ASSERT_EQ(p.growths.size(), 1u);
  EXPECT_EQ(p.growths[0]->input, 1u);
  EXPECT_EQ(p.growths[0]->output, 1u);
  EXPECT_EQ(p.growths[0]->axis, 2u);
  EXPECT_EQ(p.growths[0]->capacity, "P.capacity");
  EXPECT_EQ(p.growths[0]->kept, "P.kept");
  const plan::ValueT &present = *p.values[p.outputs[1]];
  EXPECT_EQ(present.name, "present");
  EXPECT_EQ(Dim::parse(present.bytes), Dim::symbol("N") * Dim::symbol("P.capacity") * 32);
  EXPECT_EQ(Dim::parse(present.dims[2]), Dim::symbol("P") + 1);
  std::vector<std::string> first;
  for (const auto &instruction : p.blocks[0]->instructions)
    if (const auto *call = instruction->operation.AsCallKernel(); call && !call->first_unit.empty())
      first.push_back(call->first_unit);
  ASSERT_EQ(first.size(), 1u) << "the concatenation alone knows what is in place";
  EXPECT_THAT(first[0], testing::HasSubstr("P.kept"));
}

TEST_F(PlanGrowthsTest, otherReadersOfThePast) {
  std::string type = "tensor<?x2x?x4xf32>";
  const plan::PlanT &p = plan(decoder("%r = nn.relu %p : (" + type + ") -> " + type + "\n", ", %r", ", " + type));
  EXPECT_EQ(p.growths.size(), 0u);
  EXPECT_THAT(reason(), testing::HasSubstr("reads the input, too"));
}

TEST_F(PlanGrowthsTest, otherReadersOfTheResult) {
  std::string type = "tensor<?x2x?x4xf32>";
  const plan::PlanT &p = plan(decoder("%r = nn.relu %k : (" + type + ") -> " + type + "\n", ", %r", ", " + type));
  EXPECT_EQ(p.growths.size(), 0u);
  EXPECT_THAT(reason(), testing::HasSubstr("no attention kernel"));
  EXPECT_EQ(Dim::parse(p.values[p.outputs[1]]->bytes), Dim::symbol("N") * (Dim::symbol("P") + 1) * 32);
}

TEST_F(PlanGrowthsTest, aPastOfStaticExtents) {
  const plan::PlanT &p = plan(R"(
    func.func @main(%a: tensor<3xf32>, %b: tensor<1xf32>) -> tensor<4xf32> {
      %0 = nn.concat %a, %b {axis = 0 : i64} : (tensor<3xf32>, tensor<1xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    })");
  EXPECT_EQ(p.growths.size(), 0u);
  EXPECT_EQ(report.notGrowing.size(), 0u);
}

/// A cache in which a run writes single positions.
TEST_F(PlanGrowthsTest, whatIsWrittenOverAnArgument) {
  auto cache = [](const char *more) {
    return fmt::format(R"(
      func.func @main(%u: tensor<?x1x4xf32> {{nn.dims = ["N", "1", "4"]}}, %c: tensor<?x8x4xf32> {{nn.dims = ["N", "8", "4"]}},
                      %i: tensor<?x1x4xi64> {{nn.dims = ["N", "1", "4"]}}) -> (tensor<?x8x4xf32>, tensor<?x8x4xf32>) {{
        %0 = nn.scatter_elements %c, %i, %u {{axis = 1 : i64}} :
          (tensor<?x8x4xf32>, tensor<?x1x4xi64>, tensor<?x1x4xf32>) -> tensor<?x8x4xf32>
        %1 = nn.exp {} : (tensor<?x8x4xf32>) -> tensor<?x8x4xf32>
        return %1, %0 : tensor<?x8x4xf32>, tensor<?x8x4xf32>
      }})",
                       more);
  };
  const plan::PlanT &p = plan(cache("%0"));
  ASSERT_EQ(p.growths.size(), 1u);
  EXPECT_EQ(p.growths[0]->input, 1u);
  EXPECT_EQ(p.growths[0]->output, 1u);
  EXPECT_EQ(p.growths[0]->capacity + p.growths[0]->kept, "");
  EXPECT_EQ(plan(cache("%c")).growths.size(), 0u) << "somebody else reads the cache";
}

} // namespace
} // namespace lathe
