// Convolutions that became one against the same network with each by itself: outputs agree, for random shapes,
// activations, layouts, batches and numbers of threads.
#include "compile/Compile.h"
#include "ir/Context.h"
#include "lab/judging/Difference.h"
#include "passes/Rewrite.h"
#include "passes/Twin.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <regex>

namespace lathe {
namespace {

using testing::HasSubstr;

/// A network of convolutions c0, c1, ... that read one value, each with the same activation (or none) behind it and
/// another operator that reads its part.
struct Network {
  std::string text;
  size_t branches = 0;
};

Network networkText(std::mt19937_64 &random) {
  auto in = [&](int64_t low, int64_t high) { return low + int64_t(random() % uint64_t(high - low + 1)); };
  Network network;
  network.branches = size_t(in(2, 4));
  int64_t batch = in(0, 3) ? 1 : 3, channels = in(3, 40), kernel = 2 * in(0, 2) + 1, stride = in(1, 2);
  int64_t pad = in(0, kernel / 2), height = in(8, 20), width = in(8, 20);
  int64_t rows = (height + 2 * pad - kernel) / stride + 1, columns = (width + 2 * pad - kernel) / stride + 1;
  std::string x = fmt::format("tensor<{}x{}x{}x{}xf32>", batch, channels, height, width), body, results, types;
  const char *const activations[] = {"", "relu", "hard_swish", "min"};
  const std::string activation = activations[in(0, 3)];
  if (activation == "min")
    body += "%limit = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>\n";
  bool biases = in(0, 1);
  for (size_t i = 0; i < network.branches; ++i) {
    int64_t outputs = in(0, 2) ? 16 * in(1, 3) : in(1, 50);
    std::string w = fmt::format("tensor<{}x{}x{}x{}xf32>", outputs, channels, kernel, kernel);
    std::string y = fmt::format("tensor<{}x{}x{}x{}xf32>", batch, outputs, rows, columns);
    bool bias = biases && in(0, 3);
    std::string b = fmt::format("tensor<{}xf32>", outputs);
    body += fmt::format("%w{0} = nn.constant {{value = dense<1.0> : {1}}} : {1}\n", i, w);
    if (bias)
      body += fmt::format("%b{0} = nn.constant {{value = dense<1.0> : {1}}} : {1}\n", i, b);
    body += fmt::format("%c{0} = nn.conv %x, %w{0}{1} {{strides = array<i64: {2}, {2}>, dilations = array<i64: 1, 1>, "
                        "pads = array<i64: {3}, {3}, {3}, {3}>}} : ({4}, {5}{6}) -> {7} loc(\"c{0}\")\n",
                        i, bias ? fmt::format(", %b{}", i) : "", stride, pad, x, w, bias ? ", " + b : "", y);
    std::string last = fmt::format("c{}", i);
    if (activation == "min")
      body += fmt::format("%a{0} = nn.min %c{0}, %limit : ({1}, tensor<f32>) -> {1} loc(\"a{0}\")\n", i, y);
    else if (!activation.empty())
      body += fmt::format("%a{0} = nn.{1} %c{0} : ({2}) -> {2} loc(\"a{0}\")\n", i, activation, y);
    if (!activation.empty())
      last = fmt::format("a{}", i);
    std::string mean = fmt::format("tensor<{}x{}x1x1xf32>", batch, outputs), z = y;
    if (in(0, 1)) { // a convolution reads the part
      z = fmt::format("tensor<{}x8x{}x{}xf32>", batch, rows, columns);
      std::string v = fmt::format("tensor<8x{}x1x1xf32>", outputs);
      body += fmt::format("%v{0} = nn.constant {{value = dense<1.0> : {1}}} : {1}\n", i, v);
      body +=
          fmt::format("%z{0} = nn.conv %{1}, %v{0} {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads "
                      "= array<i64: 0, 0, 0, 0>}} : ({2}, {3}) -> {4} loc(\"z{0}\")\n",
                      i, last, y, v, z);
    } else {
      z = mean;
      body += fmt::format("%z{0} = nn.reduce_mean %{1} {{axes = array<i64: 2, 3>, keepdims = true}} : ({2}) -> {3} "
                          "loc(\"z{0}\")\n",
                          i, last, y, z);
    }
    results += fmt::format("{}%z{}", i ? ", " : "", i);
    types += fmt::format("{}{}", i ? ", " : "", z);
  }
  network.text =
      fmt::format("func.func @main(%x: {}) -> ({}) {{\n{}return {} : {}\n}}", x, types, body, results, types);
  return network;
}

mlir::OwningOpRef<mlir::ModuleOp> moduleOf(mlir::MLIRContext &context, uint64_t seed, size_t *branches = nullptr) {
  std::mt19937_64 random(seed);
  Network network = networkText(random);
  if (branches)
    *branches = network.branches;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(network.text, &context);
  std::uniform_real_distribution<double> uniform(-1, 1);
  llvm::SmallVector<nn::ConstantOp> constants;
  module->walk([&](nn::ConstantOp constant) {
    if (llvm::cast<mlir::ShapedType>(constant.getType()).getRank() > 0)
      constants.push_back(constant);
  });
  for (nn::ConstantOp constant : constants) {
    auto type = llvm::cast<mlir::ShapedType>(constant.getType());
    std::vector<double> values(size_t(type.getNumElements()));
    for (double &value : values)
      value = uniform(random);
    mlir::OpBuilder b(constant);
    constant.replaceAllUsesWith(makeConstant(b, constant.getLoc(), ElementType::f32, type.getShape().vec(), values,
                                             fmt::format("w{}", random())));
    constant.erase();
  }
  return module;
}

std::shared_ptr<const runtime::Model> compiled(uint64_t seed, const CompileOptions &options, size_t merged) {
  auto context = makeContext();
  std::vector<char> bytes;
  CompileReport report = compileToBytes(*moduleOf(*context, seed), options, bytes);
  EXPECT_EQ(report.merges.convolutions, merged);
  EXPECT_EQ(report.merges.merged, merged ? 1u : 0u);
  return runtime::Model::fromBytes(bytes, "network.lathe");
}

/// The lines of a schedule file that merge all convolutions of a network.
std::string mergesOf(size_t branches) {
  std::string text;
  for (size_t i = 1; i < branches; ++i)
    text += fmt::format("c{}: merge/1 into=c0\n", i);
  return text;
}

TEST(MergedConvolutions, haveTheOutputsOfConvolutionsApart) {
  runtime::registerReferences();
  uint64_t first = std::getenv("LATHE_TEST_SEED")
                       ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                       : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  std::cout << "first seed " << first << " (LATHE_TEST_SEED repeats it)\n";
  for (uint64_t seed = first; seed < first + 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto context = makeContext();
    size_t branches = 0;
    std::vector<Value> inputs = randomInputs(*moduleOf(*context, seed, &branches), seed, {});
    CompileOptions options;
    options.threads = std::array{1, 2, 5}[seed % 3];
    options.layout = std::array{LayoutChoice::automatic, LayoutChoice::blocked, LayoutChoice::planes,
                                LayoutChoice::channelsLast}[seed % 4];
    if (seed % 5 == 0)
      options.target = "x86-64-v3";
    runtime::Context apart(compiled(seed, options, 0), {.threads = 1});
    options.schedule.text = mergesOf(branches);
    auto merged = compiled(seed, options, branches);
    std::vector<Value> expected = apart.run(inputs);
    for (int threads : {1, 3}) {
      runtime::Context running(merged, {.threads = threads});
      running.run(inputs); // what a second run finds in the arena must not matter
      std::vector<Value> found = running.run(inputs);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].tensor().dims(), expected[i].tensor().dims());
        lab::Difference difference = lab::difference(found[i].tensor(), expected[i].tensor());
        EXPECT_TRUE(difference.within({1e-5, 1e-4})) << "output " << i << ": " << difference.str();
      }
    }
  }
}

std::string scheduleOf(uint64_t seed, const CompileOptions &options) {
  auto context = makeContext();
  return emitLevel(*moduleOf(*context, seed), options, Level::schedule);
}

/// The lines without what stands behind them: a schedule that is given comes from a line of a file.
std::string withoutOrigins(const std::string &schedule) {
  return std::regex_replace(schedule, std::regex("  # [^\n]*"), "");
}

std::string errorOf(uint64_t seed, const CompileOptions &options) {
  try {
    scheduleOf(seed, options);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(MergedConvolutions, areAChoiceOfTheSchedule) {
  CompileOptions options;
  std::string apart = scheduleOf(1, options);
  EXPECT_EQ(apart.find("merge"), std::string::npos);
  options.schedule.text = mergesOf(2);
  std::string merged = scheduleOf(1, options);
  EXPECT_THAT(merged, HasSubstr("# merges\nc1: merge/1 into=c0\n"));
  EXPECT_THAT(merged, HasSubstr("\nc1: layout/1 in="));
  options.schedule.text = merged;
  EXPECT_EQ(withoutOrigins(scheduleOf(1, options)), withoutOrigins(merged));
  options.schedule.name = "mine.txt";
  options.schedule.text = "nowhere: merge/1 into=c0\n";
  EXPECT_EQ(errorOf(1, options), "mine.txt: line 1: no operator with this choice is called 'nowhere'");
  options.schedule.text = "c1: merge/1 into=nowhere\n";
  EXPECT_THAT(errorOf(1, options),
              HasSubstr("cannot be merged with 'nowhere' as the schedule asks: no convolution is called so"));
  options.schedule.text = "c0: merge/1 into=c0\n";
  EXPECT_THAT(errorOf(1, options), HasSubstr("they are one convolution"));
  options.schedule.text = "c0: merge/1\n";
  EXPECT_EQ(errorOf(1, options), "mine.txt: line 1: schedule 'merge/1': expected into=NODE");
}

/// 64 threads have nothing to do in a small kernel, so one of both kernels is predicted to be faster than both.
TEST(MergedConvolutions, areChosenByPrediction) {
  const char *const text =
      R"(func.func @main(%x: tensor<1x64x7x7xf32>) -> (tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>) {
    %w = nn.constant {value = dense<0.25> : tensor<32x64x1x1xf32>} : tensor<32x64x1x1xf32>
    %v = nn.constant {value = dense<0.5> : tensor<32x64x1x1xf32>} : tensor<32x64x1x1xf32>
    %a = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x64x7x7xf32>, tensor<32x64x1x1xf32>) -> tensor<1x32x7x7xf32> loc("a")
    %b = nn.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x64x7x7xf32>, tensor<32x64x1x1xf32>) -> tensor<1x32x7x7xf32> loc("b")
    %c = nn.reduce_mean %a {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x32x7x7xf32>) -> tensor<1x32x1x1xf32>
    %d = nn.reduce_mean %b {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x32x7x7xf32>) -> tensor<1x32x1x1xf32>
    return %c, %d : tensor<1x32x1x1xf32>, tensor<1x32x1x1xf32>
  })";
  auto reportFor = [&](const char *streams, int threads, bool smallMemory = false) {
    auto context = makeContext();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    CompileOptions options;
    options.threads = threads;
    options.streams = streams;
    options.smallMemory = smallMemory;
    options.target = "x86-64-v4";
    return checkCompiled(*module, options);
  };
  for (const char *streams : {"auto", "2"}) {
    MergesReport merges = reportFor(streams, 64).merges;
    EXPECT_EQ(merges.convolutions, 2u);
    EXPECT_EQ(merges.merged, 1u);
    EXPECT_LT(merges.cycles * 1.05, merges.apartCycles);
  }
  EXPECT_EQ(reportFor("off", 64).merges.merged, 0u);
  EXPECT_EQ(reportFor("auto", 64, true).merges.merged, 0u);
}

} // namespace
} // namespace lathe
