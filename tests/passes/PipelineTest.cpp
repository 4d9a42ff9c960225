// Random networks through the pipeline at every level: outputs stay the same, whatever the code generator declines.
#include "passes/Pipeline.h"
#include "codegen/Generate.h"
#include "ir/Context.h"
#include "passes/Rewrite.h"
#include "passes/Twin.h"
#include "passes/interpret/Evaluate.h"
#include "tests/passes/RandomGraph.h"

#include "mlir/IR/Verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
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

/// Cycles on the instruction set whose vectors are as long as a block of `channels`.
Outcome<double> cyclesOf(mlir::func::FuncOp kernel, int64_t channels) {
  static const Target shorter = Target::parse("x86-64-v3"), longer = Target::parse("x86-64-v4");
  return predictCycles({{}, kernel, channels == 8 ? shorter : longer});
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
      options.channelBlocks.sizes[ElementType::f32] = seed % 2 ? 8 : 16;
      options.exactMath = variant == 1;
      std::mt19937_64 random(seed);
      auto fails = [&](mlir::func::FuncOp kernel) {
        // Conversions must be possible; everything else may fail.
        for (mlir::Operation &op : kernel.getBody().front())
          if (llvm::isa<nn::ConvertLayoutOp>(op))
            return false;
        return variant == 2 && random() % 4 == 0;
      };
      if (variant == 2)
        options.declines = [&](mlir::func::FuncOp kernel) -> std::string {
          return fails(kernel) ? "for the test" : "";
        };
      options.predictCycles = [&](mlir::func::FuncOp kernel) -> Outcome<double> {
        return fails(kernel) ? NotApplicable{"for the test"}
                             : cyclesOf(kernel, options.channelBlocks.of(ElementType::f32));
      };
      optimizeGraph(*module, options);
      ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
      TwinResult graph = compareTwins(expected, evaluate(*module, inputs, judge));
      EXPECT_EQ(graph.mismatch, "");
      EXPECT_LE(graph.maxRelative, 5e-6) << text(*original) << text(*module);
      formKernels(*module, options);
      ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
      TwinResult kernels = compareTwins(expected, evaluate(*module, inputs, judge));
      EXPECT_EQ(kernels.mismatch, "");
      EXPECT_LE(kernels.maxRelative, 5e-6) << text(*original) << text(*module);
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

/// One transposed convolution of random rank, strides, dilations, pads and groups, and what may follow it.
mlir::OwningOpRef<mlir::ModuleOp> randomConvTranspose(mlir::MLIRContext &context, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto upTo = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n + 1)); };
  ConvTransposeAttrs attrs;
  size_t spatial = 1 + random() % 3;
  attrs.group = 1 + upTo(1) * upTo(2);
  int64_t in = attrs.group * (1 + upTo(3)), out = 1 + upTo(3), same = 1 + upTo(2);
  std::vector<int64_t> x{2, in}, w{in, out};
  attrs.pads.resize(2 * spatial);
  for (size_t i = 0; i < spatial; ++i) {
    x.push_back(1 + upTo(5));
    w.push_back(1 + upTo(3));
    attrs.strides.push_back(random() % 2 ? same : 1 + upTo(3));
    attrs.dilations.push_back(random() % 3 ? 1 : 1 + upTo(2));
    attrs.output_padding.push_back(upTo(1) * upTo(3));
    int64_t full = (x.back() - 1) * attrs.strides[i] + (w.back() - 1) * attrs.dilations[i];
    attrs.pads[i] = upTo(std::min<int64_t>(full, 4));
    attrs.pads[spatial + i] = upTo(std::min<int64_t>(full - attrs.pads[i], 4));
  }
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
  mlir::OpBuilder b(module->getBodyRegion());
  mlir::Location loc = mlir::NameLoc::get(b.getStringAttr("up"));
  auto input = mlir::RankedTensorType::get(x, b.getF32Type());
  auto function = b.create<mlir::func::FuncOp>(loc, "main", b.getFunctionType({input}, {}));
  b.setInsertionPointToStart(function.addEntryBlock());
  auto constant = [&](std::vector<int64_t> dims) {
    std::vector<double> values(static_cast<size_t>(mlir::RankedTensorType::get(dims, b.getF32Type()).getNumElements()));
    for (double &value : values)
      value = static_cast<double>(upTo(200)) / 100 - 1;
    return makeConstant(b, loc, ElementType::f32, dims, values, "c" + std::to_string(random()));
  };
  std::vector<int64_t> channel(spatial + 1, 1);
  channel[0] = out * attrs.group;
  mlir::Value bias = random() % 2 ? constant({out * attrs.group}) : mlir::Value();
  mlir::Value y =
      nn::buildValue(b, loc, "conv_transpose", {function.getArgument(0), constant(w), bias}, std::move(attrs));
  if (random() % 2)
    y = nn::buildValue(b, loc, "mul", {y, constant(channel)}, MulAttrs());
  if (random() % 2)
    y = nn::buildValue(b, loc, "relu", {y}, ReluAttrs());
  if (random() % 2)
    y = nn::buildValue(b, loc, "prelu", {y, constant(channel)}, PreluAttrs());
  b.create<mlir::func::ReturnOp>(loc, y);
  function.setType(b.getFunctionType({input}, y.getType()));
  return module;
}

/// Infinite, NaN or finite: the same for all elements.
void expectSameKinds(const std::vector<Value> &expected, const std::vector<Value> &got) {
  ASSERT_EQ(expected.size(), got.size());
  auto kind = [](double x) { return std::isnan(x) ? 2 : std::isinf(x) ? (x > 0 ? 1 : -1) : 0; };
  for (size_t i = 0; i < got.size(); ++i)
    for (int64_t at = 0; at < got[i].tensor().elements(); ++at)
      ASSERT_EQ(kind(expected[i].tensor().asDouble(at)), kind(got[i].tensor().asDouble(at))) << "element " << at;
}

/// NaN and infinities at some places.
std::vector<Value> withoutNumbers(const std::vector<Value> &inputs, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Value> result;
  for (const Value &input : inputs) {
    Tensor copy = input.tensor().clone();
    for (int64_t at = 0; at < copy.elements(); ++at)
      if (random() % 4 == 0)
        copy.as<float>()[at] = random() % 2 ? std::numeric_limits<float>::infinity() : std::nanf("");
    result.emplace_back(std::move(copy));
  }
  return result;
}

TEST(Pipeline, TransposedConvolutionsBecomeOrdinaryOnes) {
  uint64_t first = std::getenv("LATHE_TEST_SEED") ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                                                  : std::random_device{}() % 1000000;
  std::cout << "first seed " << first << " (LATHE_TEST_SEED repeats it)\n";
  int rewritten = 0;
  for (uint64_t seed = first; seed < first + 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto context = makeContext();
    auto module = randomConvTranspose(*context, seed);
    EvaluateOptions judge;
    judge.judge = true;
    std::vector<Value> inputs = randomInputs(*module, seed), expected = evaluate(*module, inputs, judge);
    // They reach no position but those that the element has a part in.
    std::vector<Value> endless = withoutNumbers(inputs, seed), expectedEndless = evaluate(*module, endless, judge);
    PipelineOptions options;
    options.level = static_cast<int>(seed % 4);
    options.exactMath = seed % 5 == 0;
    options.predictCycles = [](mlir::func::FuncOp kernel) { return cyclesOf(kernel, 16); };
    optimizeGraph(*module, options);
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
    TwinResult graph = compareTwins(expected, evaluate(*module, inputs, judge));
    EXPECT_EQ(graph.mismatch, "");
    EXPECT_LE(graph.maxRelative, 5e-6) << text(*module);
    expectSameKinds(expectedEndless, evaluate(*module, endless, judge));
    rewritten += text(*module).find("conv_transpose") == std::string::npos;
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(rewritten, 150);
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
  options.predictCycles = [](mlir::func::FuncOp kernel) { return cyclesOf(kernel, 16); };
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
