// Random programs of nested If, Loop and Scan: compiled at every level they give what the references give. LATHE_PROGRAMS
// is the number of programs (40).
#include "codegen/testing/RandomTesting.h"
#include "compile/Compile.h"
#include "export/onnx/Export.h"
#include "import/Import.h"
#include "ir/Context.h"
#include "ir/ModelText.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/Context.h"
#include "runtime/References.h"
#include "tests/programs/RandomProgram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <unistd.h>

namespace lathe {
namespace {

/// x with `rows` rows, the number of iterations and the flag of a run.
std::vector<Value> inputsOf(uint64_t seed, int64_t rows, int64_t count, bool flag) {
  Random random(seed);
  Tensor x(ElementType::f32, {rows, 4});
  for (int64_t i = 0; i < x.elements(); ++i)
    x.as<float>()[i] = static_cast<float>(random.in(-1000, 1000)) / 500;
  Tensor condition(ElementType::boolean, {});
  condition.as<uint8_t>()[0] = flag;
  return {x, Tensor::of<int64_t>({}, {count}), condition};
}

/// "" where the tensors agree, otherwise what differs.
std::string difference(const Tensor &expected, const Tensor &actual) {
  // Without iterations, the other extents of a scanned value are what is known of them (docs/control-flow.md).
  if (expected.rank() == 3 && actual.rank() == 3 && expected.dim(0) == 0 && actual.dim(0) == 0)
    return "";
  if (expected.dims() != actual.dims())
    return fmt::format("extents {}, expected {}", fmt::join(actual.dims(), "x"), fmt::join(expected.dims(), "x"));
  for (int64_t i = 0; i < expected.elements(); ++i)
    if (!(std::abs(expected.asDouble(i) - actual.asDouble(i)) <= 1e-4))
      return fmt::format("element {} is {}, expected {}", i, actual.asDouble(i), expected.asDouble(i));
  return "";
}

void checkProgram(uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::string bytes = randomProgram(seed);
  auto context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  try {
    module = importOnnxBytes(*context, bytes, "program.onnx");
  } catch (const Error &error) {
    FAIL() << error.what();
  }
  std::vector<std::vector<Value>> inputs = {inputsOf(seed, 3, 2, true), inputsOf(seed + 1, 5, 1, false),
                                            inputsOf(seed + 2, 3, 4, false)};
  std::vector<std::vector<Value>> expected;
  for (const std::vector<Value> &one : inputs)
    expected.push_back(evaluate(*module, one));
  for (int level = 0; level <= 4; ++level) {
    SCOPED_TRACE(fmt::format("level {}", level));
    mlir::OwningOpRef<mlir::ModuleOp> copy(llvm::cast<mlir::ModuleOp>((*module)->clone()));
    CompileOptions options;
    options.level = level;
    options.threads = 1 + static_cast<int>(seed % 2);
    std::vector<char> package;
    try {
      compileToBytes(*copy, options, package);
      runtime::Context run(runtime::Model::fromBytes(package, "program.lathe"), {options.threads});
      for (size_t repeat = 0; repeat < 2; ++repeat) // what a run leaves behind must not reach the next one
        for (size_t k = 0; k < inputs.size(); ++k) {
          for (size_t i = 0; i < run.model().inputs().size(); ++i)
            run.setInput(i, inputs[k][i]);
          run.run();
          for (size_t i = 0; i < expected[k].size(); ++i)
            ASSERT_EQ(difference(expected[k][i].tensor(), run.output(i).tensor()), "")
                << "output " << i << " of inputs " << k;
        }
    } catch (const Error &error) {
      FAIL() << error.what();
    }
  }
}

TEST(Program, AgreesWithReferencesAtEveryLevel) {
  runtime::registerReferences();
  const char *given = std::getenv("LATHE_PROGRAMS");
  for (uint64_t seed : randomSeeds(given ? std::stoull(given) : 40)) {
    checkProgram(seed);
    if (testing::Test::HasFatalFailure())
      return;
  }
}

/// Written as ONNX or as text and read again, a program gives the same.
TEST(Program, StaysTheSameInFiles) {
  std::string folder = std::filesystem::temp_directory_path() / fmt::format("lathe-programs-{}", ::getpid());
  std::filesystem::create_directories(folder);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    auto context = makeContext();
    auto module = importOnnxBytes(*context, randomProgram(seed), "program.onnx");
    std::vector<Value> inputs = inputsOf(seed, 3, 2, true), expected = evaluate(*module, inputs);
    auto exported = importOnnxBytes(*context, exportOnnx(*module), "exported.onnx");
    nn::writeModelText(*module, folder + "/program.mlir");
    auto read = nn::readModelText(*context, folder + "/program.mlir");
    for (mlir::ModuleOp again : {*exported, *read}) {
      std::vector<Value> actual = evaluate(again, inputs);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(difference(expected[i].tensor(), actual[i].tensor()), "") << "output " << i;
    }
  }
  std::filesystem::remove_all(folder);
}

/// A loop of a million iterations needs what one of ten needs.
TEST(Program, MemoryDoesNotGrowWithIterations) {
  runtime::registerReferences();
  constexpr const char *text = R"(
    module {
      module @body {
        func.func @main(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<1x16xf32>, %w: tensor<1x16xf32>)
            -> (tensor<i1>, tensor<1x16xf32>, tensor<1x16xf32>) {
          %0 = nn.tanh %v : (tensor<1x16xf32>) -> tensor<1x16xf32>
          %1 = nn.add %0, %w : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
          return %c, %1, %0 : tensor<i1>, tensor<1x16xf32>, tensor<1x16xf32>
        }
      }
      func.func @main(%n: tensor<i64> {nn.name = "n"}, %x: tensor<1x16xf32> {nn.name = "x"}) -> (tensor<1x16xf32> {nn.name = "y"}) {
        %true = nn.constant {value = dense<true> : tensor<i1>} : tensor<i1>
        %0:2 = nn.loop %n, %true, %x, %x {body = @body, carried = 2 : i64}
            : (tensor<i64>, tensor<i1>, tensor<1x16xf32>, tensor<1x16xf32>) -> (tensor<1x16xf32>, tensor<1x16xf32>)
        return %0#0 : tensor<1x16xf32>
      }
    })";
  auto context = makeContext();
  auto module = nn::parseModelText(*context, text, "loop.mlir");
  std::vector<char> package;
  compileToBytes(*module, {}, package);
  runtime::Context run(runtime::Model::fromBytes(package, "loop.lathe"), {1});
  Tensor x(ElementType::f32, {1, 16});
  std::fill_n(x.as<float>(), 16, 0.5f);
  auto bytesAfter = [&](int64_t iterations) {
    run.setInput(0, Tensor::of<int64_t>({}, {iterations}));
    run.setInput(1, x);
    run.run();
    runtime::MemoryUse use = run.memory();
    return use.arenaBytes + use.copiedBytes + use.outputBytes;
  };
  uint64_t few = bytesAfter(10);
  EXPECT_EQ(bytesAfter(1000000), few);
}

} // namespace
} // namespace lathe
