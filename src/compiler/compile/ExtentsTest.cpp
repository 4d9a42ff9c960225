// Packages with variants, ranges of extents, and packages made on first use.
#include "compile/Extents.h"
#include "compile/Specializer.h"
#include "ir/Context.h"
#include "ir/Main.h"
#include "runtime/Context.h"
#include "runtime/References.h"
#include "runtime/plan/Program.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

#include <thread>

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Two dense layers over a batch N, with weights of a few KiB.
std::string network(int64_t width = 48) {
  return fmt::format(R"(
    func.func @main(%x: tensor<?x{0}xf32> {{nn.name = "x", nn.dims = ["N", "{0}"]}}) -> (tensor<?x{0}xf32> {{nn.name = "y"}}) {{
      %w = nn.constant {{value = dense<0.25> : tensor<{0}x{0}xf32>}} : tensor<{0}x{0}xf32>
      %0 = nn.matmul %x, %w : (tensor<?x{0}xf32>, tensor<{0}x{0}xf32>) -> tensor<?x{0}xf32>
      %1 = nn.relu %0 : (tensor<?x{0}xf32>) -> tensor<?x{0}xf32>
      return %1 : tensor<?x{0}xf32>
    }})",
                     width);
}

class ExtentsTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();

  void SetUp() override { runtime::registerReferences(); }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    return module;
  }

  std::shared_ptr<const runtime::Model> compiled(const ExtentOptions &extents, CompileReport *report = nullptr) {
    auto module = parse(network());
    CompileOptions options;
    options.extents = extents;
    std::vector<char> package;
    CompileReport made = compileToBytes(*module, options, package);
    if (report)
      *report = std::move(made);
    return runtime::Model::fromBytes(package, "m.lathe");
  }
};

/// Runs a batch of ones. Every output is 0.25 * 48.
void expectRuns(runtime::Context &context, int64_t batch) {
  Tensor x(ElementType::f32, {batch, 48});
  std::fill_n(x.as<float>(), x.elements(), 1.0f);
  context.setInput(0, x);
  context.run();
  const Tensor &y = context.output(0).tensor();
  ASSERT_THAT(y.dims(), ElementsAre(batch, 48));
  for (int64_t i = 0; i < y.elements(); ++i)
    ASSERT_EQ(y.as<float>()[i], 12.0f);
}

template <class F> std::string errorOf(F &&f) {
  try {
    f();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(ExtentTexts, variantsAreEveryCombination) {
  EXPECT_THAT(parseVariants("N=1,8"), ElementsAre(Extents{{"N", 1}}, Extents{{"N", 8}}));
  EXPECT_EQ(parseVariants("H=2,3 W=4,5,6").size(), 6u);
  std::vector<Extents> all;
  addVariants(all, parseVariants("N=1,8"));
  addVariants(all, parseVariants("N=8"));
  addVariants(all, parseVariants("N=2 T=3"));
  EXPECT_THAT(all, ElementsAre(Extents{{"N", 2}, {"T", 3}}, Extents{{"N", 1}}, Extents{{"N", 8}}));
  for (const char *wrong : {"", "N", "N=", "=3", "N=a", "N=1,,x", "N=1 N=2", "N=-1"})
    EXPECT_NE(errorOf([&] { parseVariants(wrong); }), "") << wrong;
  EXPECT_THAT(errorOf([&] { parseVariants("A=1,2,3,4,5,6,7,8,9 B=1,2,3,4,5,6,7,8,9"); }), HasSubstr("at most 64"));
}

TEST(ExtentTexts, rangesAndExtents) {
  auto ranges = parseRanges("N=1..64 T=0..8");
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[1].max, 8);
  EXPECT_EQ(parseExtents("N=8 T=128"), (Extents{{"N", 8}, {"T", 128}}));
  for (const char *wrong : {"N=1", "N=8..1", "N=1...4", "N=..4", "N=1..", "N"})
    EXPECT_NE(errorOf([&] { parseRanges(wrong); }), "") << wrong;
}

TEST_F(ExtentsTest, variantsShareConstantsAndRunWhereTheyFit) {
  CompileReport general, report;
  compiled({}, &general);
  auto model = compiled({.variants = {{{"N", 8}}, {{"N", 1}}}}, &report);
  ASSERT_EQ(model->program().plans.size(), 3u);
  ASSERT_EQ(report.variants.size(), 2u);
  EXPECT_EQ(report.variants[0].extents, "N=8");
  EXPECT_THAT(report.symbols, ElementsAre("N"));
  // At most one more form of the weights for each variant, because the column sizes differ.
  EXPECT_LE(report.constantBytes, 3 * general.constantBytes);
  runtime::Context context(model, {1});
  for (int64_t batch : {8, 3, 1, 8, 17}) {
    expectRuns(context, batch);
    size_t plan = batch == 8 ? 0 : batch == 1 ? 1 : 2;
    EXPECT_EQ(&context.plan(), &model->program().plans[plan]) << batch;
  }
}

TEST_F(ExtentsTest, extentsOutsideARangeAreOneError) {
  auto model = compiled({.variants = {{{"N", 8}}}, .ranges = {{"N", 2, 64}}});
  runtime::Context context(model, {1});
  for (int64_t batch : {2, 8, 64})
    expectRuns(context, batch);
  for (int64_t batch : {1, 65})
    EXPECT_EQ(errorOf([&] { expectRuns(context, batch); }),
              fmt::format("m.lathe: input 'x' (f32 Nx48): expected N from 2 to 64, got {}", batch));
  expectRuns(context, 5); // later runs work again
}

TEST_F(ExtentsTest, optionsMustFitTheModel) {
  EXPECT_THAT(errorOf([&] { compiled({.variants = {{{"M", 8}}}}); }),
              HasSubstr("--specialize M: unknown symbol, the model's symbols are N"));
  EXPECT_THAT(errorOf([&] { compiled({.ranges = {{"H", 1, 2}}}); }), HasSubstr("--range H: unknown symbol"));
  EXPECT_THAT(errorOf([&] { compiled({.variants = {{{"N", 8}}}, .ranges = {{"N", 1, 4}}}); }),
              HasSubstr("--specialize N=8: expected 1 to 4"));
  EXPECT_THAT(errorOf([&] { compiled({.ranges = {{"N", 1, 4}}, .typical = {{"N", 5}}}); }),
              HasSubstr("--optimize-for N=5: expected 1 to 4"));
}

/// The schedule of a symbolic batch equals the schedule of the batch it is optimised for, if both allow it.
TEST_F(ExtentsTest, schedulesAreChosenForTypicalExtents) {
  auto scheduleOf = [&](const ExtentOptions &extents, bool fixed) {
    auto module = parse(network(512));
    if (fixed)
      specialize(mainFunction(*module), {{"N", 256}});
    CompileOptions options;
    options.extents = extents;
    std::vector<char> package;
    compileToBytes(*module, options, package);
    auto model = runtime::Model::fromBytes(package, "m.lathe");
    return model->program().plans.back().kernels.at(0).schedule;
  };
  EXPECT_EQ(scheduleOf({.typical = {{"N", 256}}}, false), scheduleOf({}, true));
}

TEST_F(ExtentsTest, specializerCompilesOnceAndKeepsTheLast) {
  auto module = parse(network());
  Specializer specializer(std::move(context), std::move(module), {}, 2);
  std::vector<std::thread> threads;
  std::array<std::shared_ptr<const PackageBytes>, 6> got;
  for (size_t i = 0; i < got.size(); ++i)
    threads.emplace_back([&, i] { got[i] = specializer.package({{"N", i % 2 ? 4 : 8}}); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(specializer.compilations(), 2u);
  for (size_t i = 2; i < got.size(); ++i)
    EXPECT_EQ(got[i], got[i % 2]);
  specializer.package({{"N", 5}});
  EXPECT_EQ(specializer.kept(), 2u);
  specializer.package({{"N", 5}});
  EXPECT_EQ(specializer.compilations(), 3u);
  EXPECT_THAT(errorOf([&] { specializer.package({{"M", 5}}); }), HasSubstr("unknown symbol"));
  EXPECT_EQ(specializer.kept(), 2u);
  auto model = runtime::Model::fromBytes({got[0]->data(), got[0]->size()}, "m.lathe", got[0]); // outlives the cache
  runtime::Context run(model, {1});
  expectRuns(run, 8);
  EXPECT_THAT(errorOf([&] { expectRuns(run, 4); }), HasSubstr("expected f32 8x48"));
}

} // namespace
} // namespace lathe
