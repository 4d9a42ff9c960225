// Random networks through the pipeline at every level: outputs stay the same, whatever the code generator declines.
#include "passes/Pipeline.h"
#include "ir/Context.h"
#include "passes/Evaluate.h"
#include "passes/Twin.h"
#include "tests/passes/RandomGraph.h"

#include "mlir/IR/Verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace lathe {
namespace {

std::string text(mlir::ModuleOp module) {
  std::string result;
  llvm::raw_string_ostream stream(result);
  mlir::OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(8).elideLargeResourceString(8);
  module->print(stream, flags);
  return result;
}

void checkSeed(uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  auto context = makeContext();
  auto original = randomGraph(*context, seed, 4 + static_cast<int>(seed % 13));
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*original)));
  EvaluateOptions judge;
  judge.judge = true;
  std::vector<Value> inputs = randomInputs(*original, seed);
  std::vector<Value> expected = evaluate(*original, inputs, judge);
  for (int level = 0; level <= 4; ++level)
    for (int variant = 0; variant < 3; ++variant) {
      SCOPED_TRACE("level " + std::to_string(level) +
                   (variant == 1   ? ", exact math"
                    : variant == 2 ? ", some kernels declined"
                                   : ""));
      mlir::OwningOpRef<mlir::ModuleOp> module(llvm::cast<mlir::ModuleOp>((*original)->clone()));
      PipelineOptions options;
      options.level = level;
      options.channelBlock = seed % 2 ? 8 : 16;
      options.exactMath = variant == 1;
      std::mt19937_64 random(seed);
      if (variant == 2)
        options.declines = [&](mlir::func::FuncOp kernel) -> std::string {
          // Conversions must be possible; everything else may fail.
          for (mlir::Operation &op : kernel.getBody().front())
            if (llvm::isa<nn::ConvertLayoutOp>(op))
              return "";
          return random() % 4 == 0 ? "for the test" : "";
        };
      optimizeGraph(*module, options);
      ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
      TwinResult graph = compareTwins(expected, evaluate(*module, inputs, judge));
      EXPECT_EQ(graph.mismatch, "");
      EXPECT_LE(graph.maxRelative, 2e-5) << text(*original) << text(*module);
      formKernels(*module, options);
      ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
      TwinResult kernels = compareTwins(expected, evaluate(*module, inputs, judge));
      EXPECT_EQ(kernels.mismatch, "");
      EXPECT_LE(kernels.maxRelative, 2e-5) << text(*original) << text(*module);
      if (testing::Test::HasFailure())
        return;
    }
}

TEST(Pipeline, RandomNetworksKeepTheirOutputs) {
  uint64_t first = std::getenv("LATHE_TEST_SEED")
                       ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                       : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  std::cout << "first seed " << first << " (LATHE_TEST_SEED repeats it)\n";
  for (uint64_t seed = first; seed < first + 40 && !HasFailure(); ++seed)
    checkSeed(seed);
}

TEST(Pipeline, ResultsDoNotDependOnThreads) {
  auto context = makeContext();
  auto module = randomGraph(*context, 7, 12);
  std::vector<Value> inputs = randomInputs(*module, 1);
  EvaluateOptions one, three;
  three.threads = 3;
  TwinResult result = compareTwins(evaluate(*module, inputs, one), evaluate(*module, inputs, three));
  EXPECT_EQ(result.mismatch, "");
  EXPECT_EQ(result.maxRelative, 0);
}

TEST(Evaluate, ObserverSeesOperatorsInsideKernels) {
  auto context = makeContext();
  auto module = randomGraph(*context, 11, 6);
  std::vector<Value> inputs = randomInputs(*module, 1);
  PipelineOptions options;
  optimizeGraph(*module, options);
  std::vector<std::string> before, after;
  EvaluateOptions watch;
  watch.observe = [&](mlir::Operation *op, std::span<const Value> results) {
    EXPECT_EQ(results.size(), op->getNumResults());
    before.push_back(op->getName().getStringRef().str());
  };
  evaluate(*module, inputs, watch);
  formKernels(*module, options);
  watch.observe = [&](mlir::Operation *op, std::span<const Value>) {
    after.push_back(op->getName().getStringRef().str());
  };
  evaluate(*module, inputs, watch);
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  EXPECT_EQ(before, after);
}

TEST(Evaluate, NamesTheInputThatDoesNotFit) {
  auto context = makeContext();
  auto module = randomGraph(*context, 3, 2);
  std::vector<Value> none;
  EXPECT_THROW(evaluate(*module, none), Error);
  std::vector<Value> wrong{Tensor(ElementType::f32, {1, 1})};
  try {
    evaluate(*module, wrong);
    FAIL();
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("argument 0"));
  }
}

} // namespace
} // namespace lathe
