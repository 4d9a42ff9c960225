// Random programs of nested If, Loop and Scan: compiled at every level they give what the references give.
// LATHE_PROGRAMS is the number of programs (32, and a quarter as many new ones).
#include "codegen/testing/RandomTesting.h"
#include "compile/Compile.h"
#include "export/onnx/Export.h"
#include "import/Import.h"
#include "ir/Context.h"
#include "ir/ModelText.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/Context.h"
#include "runtime/References.h"
#include "tests/programs/ProgramCheck.h"
#include "tests/programs/RandomProgram.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <utility>

#include <unistd.h>

namespace lathe {
namespace {

/// What a failure says, without names and numbers.
std::string kindOf(const std::string &failure) {
  std::string kind;
  bool word = true;
  for (char c : failure) {
    bool named = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' || c == '-';
    if (!named)
      kind += std::exchange(word, true) ? " " : "?";
    else if (!std::isalpha(static_cast<unsigned char>(c)))
      word = false;
    if (named && word)
      kind += c;
  }
  return kind;
}

/// Checks a program; one that fails is made smaller and kept. False if it failed.
bool isRight(uint64_t seed, ProgramCheck &check) {
  std::string bytes = randomProgram(seed), failure = programFailure(bytes, seed, check);
  if (failure.empty())
    return true;
  ProgramCheck same;
  same.levels = {check.level};
  std::string smaller = smallerProgram(bytes, [&](const std::string &candidate) {
    return kindOf(programFailure(candidate, seed, same)) == kindOf(failure);
  });
  ADD_FAILURE() << "seed " << seed << ": " << failure << "\n  " << keepProgram(bytes, fmt::format("{}.onnx", seed))
                << ", smaller " << keepProgram(smaller, fmt::format("{}-small.onnx", seed));
  return false;
}

/// Every level in turn with the least one and the default one, or all of them with LATHE_PROGRAMS.
TEST(Program, AgreesWithReferencesAtEveryLevel) {
  runtime::registerReferences();
  const char *given = std::getenv("LATHE_PROGRAMS");
  ProgramCheck check;
  int failures = 0;
  for (uint64_t seed : randomSeeds(given ? std::stoull(given) : 32)) {
    if (!given)
      check.levels = {0, 3, std::array{1, 2, 4}[seed % 3]};
    failures += !isRight(seed, check);
    if (failures == 5)
      return;
  }
  EXPECT_LT(check.undecided * 10, check.runs);
}

/// Instructions that run beside each other, on any number of slots and in any order that the plan allows, compute the
/// same bits as one after the other.
TEST(Program, RunsInStreams) {
  runtime::registerReferences();
  const char *given = std::getenv("LATHE_PROGRAMS");
  size_t beside = 0;
  for (uint64_t seed : randomSeeds(given ? std::stoull(given) : 12)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::string bytes = randomProgram(seed);
    ProgramCheck check;
    std::vector<ProgramRun> runs = programRuns(bytes, seed, check);
    auto context = makeContext();
    auto compiled = [&](const std::string &streams, CompileReport &report) {
      auto module = importOnnxBytes(*context, bytes, "program.onnx");
      CompileOptions options;
      options.threads = 8;
      options.level = std::array{0, 2, 3}[seed % 3];
      options.streams = streams;
      std::vector<char> package;
      report = compileToBytes(*module, options, package);
      return runtime::Model::fromBytes(package, "program.lathe");
    };
    CompileReport plain, streams;
    auto sequence = compiled("off", plain), model = compiled(std::to_string(2 + seed % 3), streams);
    beside += streams.streams.instructions > 0;
    for (int threads : {1, 2, 3, 8}) {
      runtime::Context running(model, {threads}), shuffled(model, {threads}), expected(sequence, {threads});
      for (size_t k = 0; k < runs.size(); ++k) {
        std::vector<Value> right = expected.run(runs[k].inputs);
        for (int repeat = 0; repeat < 2; ++repeat) {
          std::vector<Value> results = running.run(runs[k].inputs);
          for (size_t i = 0; i < right.size(); ++i)
            ASSERT_EQ(programDifference(right[i], results[i], 0), "")
                << threads << " threads, inputs " << k << ", output " << i;
        }
        for (size_t i = 0; i < runs[k].inputs.size(); ++i)
          shuffled.setInput(i, runs[k].inputs[i]);
        shuffled.run({.shuffle = seed + k + 1});
        for (size_t i = 0; i < right.size(); ++i)
          ASSERT_EQ(programDifference(right[i], shuffled.output(i), 0), "")
              << threads << " threads, shuffled, inputs " << k << ", output " << i;
      }
    }
  }
  EXPECT_GT(beside, 5u);
}

/// Written as ONNX or as text and read again, a program gives the same.
TEST(Program, StaysTheSameInFiles) {
  std::string folder = std::filesystem::temp_directory_path() / fmt::format("lathe-programs-{}", ::getpid());
  std::filesystem::create_directories(folder);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    auto context = makeContext();
    auto module = importOnnxBytes(*context, randomProgram(seed), "program.onnx");
    ProgramCheck check;
    std::vector<ProgramRun> runs = programRuns(randomProgram(seed), seed, check);
    auto exported = importOnnxBytes(*context, exportOnnx(*module), "exported.onnx");
    nn::writeModelText(*module, folder + "/program.mlir");
    auto read = nn::readModelText(*context, folder + "/program.mlir");
    for (mlir::ModuleOp again : {*exported, *read})
      for (const ProgramRun &run : runs) {
        std::vector<Value> actual = evaluate(again, run.inputs);
        for (size_t i = 0; i < actual.size(); ++i)
          EXPECT_EQ(programDifference(run.expected[i], actual[i], 1e-6), "") << "output " << i;
      }
  }
  std::filesystem::remove_all(folder);
}

/// Packages of programs for run-programs, in the folder $LATHE_PROGRAM_PACKAGES.
TEST(Program, WritesPackages) {
  const char *folder = std::getenv("LATHE_PROGRAM_PACKAGES"), *given = std::getenv("LATHE_PROGRAMS");
  if (!folder)
    GTEST_SKIP() << "LATHE_PROGRAM_PACKAGES is not set";
  runtime::registerReferences();
  ProgramCheck check;
  check.levels = {3};
  check.threads = {1};
  check.packages = folder;
  for (uint64_t seed : randomSeeds(given ? std::stoull(given) : 40))
    EXPECT_EQ(programFailure(randomProgram(seed), seed, check), "") << "seed " << seed;
  auto context = makeContext();
  auto module = importOnnxBytes(*context, longProgram(), "long.onnx");
  Tensor x = Tensor::of<float>({1, 4}, {0.5f, -0.25f, 1.0f, 0.125f}), flag(ElementType::boolean, {});
  flag.as<uint8_t>()[0] = 1;
  ProgramRun run{{x, Tensor::of<int64_t>({}, {20}), flag}, {}};
  std::vector<char> package;
  compileToBytes(*module, {}, package);
  writePackage(folder, "long", package, {run});
}

/// Many iterations need what few need.
TEST(Program, MemoryDoesNotGrowWithIterations) {
  runtime::registerReferences();
  auto context = makeContext();
  auto module = importOnnxBytes(*context, longProgram(), "long.onnx");
  Tensor x = Tensor::of<float>({1, 4}, {0.5f, -0.25f, 1.0f, 0.125f}), flag(ElementType::boolean, {});
  flag.as<uint8_t>()[0] = 1;
  std::vector<Value> inputs{x, Tensor::of<int64_t>({}, {20}), flag}, expected = evaluate(*module, inputs);
  std::vector<char> package;
  compileToBytes(*module, {}, package);
  runtime::Context running(runtime::Model::fromBytes(package, "long.lathe"), {1});
  std::vector<Value> results = running.run(inputs);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(programDifference(expected[i], results[i], 1e-4), "") << "output " << i;
  auto bytesAfter = [&](int64_t iterations) {
    inputs[1] = Tensor::of<int64_t>({}, {iterations});
    results = running.run(inputs);
    EXPECT_EQ(results[1].tensor().asInteger(0), 5);
    runtime::MemoryUse use = running.memory();
    return use.arenaBytes + use.copiedBytes + use.outputBytes;
  };
  uint64_t few = bytesAfter(100);
  EXPECT_EQ(bytesAfter(20000), few);
}

} // namespace
} // namespace lathe
