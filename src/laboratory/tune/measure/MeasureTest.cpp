// The measurer with its two programs: right candidates, and all ways in which a candidate can fail.
//
// Environment variables move the runner to another machine (tune/measure/RemoteTest.py): LATHE_TUNE_VIA and
// LATHE_TUNE_DIRECTORY set the members of MeasureOptions, LATHE_TEST_TARGET the target, and LATHE_TUNE_KERNELS names
// the image of testing/Misbehaving.c.
#include "tune/measure/Measure.h"
#include "codegen/Task.h"
#include "codegen/testing/KernelEmulation.h"
#include "compile/Options.h"
#include "ir/Context.h"
#include "lab/corun/CorunTesting.h"
#include "lab/resources/Placement.h"
#include "process/TemporaryDirectory.h"
#include "support/Base64.h"
#include "support/File.h"
#include "tune/Space.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <sys/stat.h>

namespace lathe::tune {
namespace {

using store::PointStatus;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

MeasureOptions options(int threads = 1) {
  MeasureOptions options;
  CompileChoices compiling;
  compiling.target = testTargetName();
  compiling.threads = threads;
  options.compiling = nlohmann::json(compiling).dump();
  options.builders = 2;
  options.via = environment("LATHE_TUNE_VIA");
  options.viaDirectory = environment("LATHE_TUNE_DIRECTORY");
  options.sampleSeconds = 0.02;
  return options;
}

/// A kernel function and its task.
struct Kernel {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Target target = testTarget();
  std::unique_ptr<KernelFacts> facts;
  Task task;

  explicit Kernel(const std::string &text, int threads = 1) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    KernelProblem problem{{.threads = threads}, *module->getOps<mlir::func::FuncOp>().begin(), target};
    auto read = readFacts(problem);
    if (!read)
      throw std::runtime_error(read.reason());
    facts = std::move(*read);
    task.key = taskOf(problem);
    task.kernel = text;
    task.label = "kernel";
  }

  std::string prior() const { return priorSchedule(*facts)->str(); }
  /// Random legal schedules of the task's precision.
  std::vector<std::string> draw(size_t count, uint64_t seed = 1) const {
    Space space(*facts);
    Random random(seed);
    std::vector<std::string> schedules;
    while (schedules.size() < count)
      if (std::string schedule = space.schedule(*space.draw(random)).str(); schedule.find("bf16") == schedule.npos)
        schedules.push_back(schedule);
    return schedules;
  }
};

std::string function(const std::string &family, const std::string &arguments, const std::string &result,
                     const std::string &body) {
  return fmt::format("func.func private @k({}) -> {} attributes {{nn.family = \"{}\"}} {{\n{}  return %y : {}\n}}\n",
                     arguments, result, family, body, result);
}

std::string relu() {
  std::string x = "tensor<1000xf32>";
  return function("elementwise", "%x: " + x, x, fmt::format("  %y = nn.relu %x : ({0}) -> {0}\n", x));
}

/// A blocked convolution with an incomplete last block, packed weights and a bias.
std::string conv(int64_t block, int64_t images = 1) {
  std::string x = fmt::format("tensor<{}x40x12x12xf32, #nn.blocked<1, {}>>", images, block),
              w = "tensor<40x40x3x3xf32>", b = "tensor<40xf32>";
  return function("contraction", fmt::format("%x: {}, %w: {} {{nn.constant}}, %b: {} {{nn.constant}}", x, w, b), x,
                  fmt::format("  %c = nn.conv %x, %w, %b {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, "
                              "pads = array<i64: 1, 1, 1, 1>, group = 1 : i64}} : ({0}, {1}, {2}) -> {0}\n  %y = "
                              "nn.relu %c : ({0}) -> {0}\n",
                              x, w, b));
}

void expectPassed(const std::vector<Measurement> &measurements) {
  for (const Measurement &one : measurements) {
    EXPECT_EQ(one.status, PointStatus::passed) << one.schedule << ": " << one.reason;
    EXPECT_FALSE(one.seconds.empty());
    EXPECT_GT(one.best(), 0);
    EXPECT_GT(one.build, 0);
    EXPECT_GT(one.run, 0);
  }
}

TEST(Measure, runsRightCandidatesOfManySchedules) {
  for (int threads : {1, 2}) {
    Kernel kernel(conv(testTarget().channelBlock()), threads);
    Measurer measurer(options(threads));
    std::vector<std::string> schedules = kernel.draw(10);
    schedules.push_back(kernel.prior());
    int done = 0;
    std::vector<Measurement> measured =
        measurer.measure(kernel.task, schedules, unmeasured, [&](const Measurement &one) { done += one.passed(); });
    ASSERT_EQ(measured.size(), schedules.size());
    for (size_t i = 0; i < schedules.size(); ++i)
      EXPECT_EQ(measured[i].schedule, schedules[i]);
    expectPassed(measured);
    EXPECT_EQ(done, int(schedules.size()));
    EXPECT_EQ(measurer.counts().trials, int64_t(schedules.size()));
    EXPECT_GT(measurer.counts().lower, 0);
    EXPECT_GT(measurer.counts().trialsPerMinute(), 0);
  }
}

/// In company a candidate has the median as its time, and none if the companion did too few runs.
TEST(Measure, measuresInCompany) {
  if (!environment("LATHE_TUNE_VIA").empty())
    GTEST_SKIP() << "the companion runs here";
  process::TemporaryDirectory folder("measure-test");
  Kernel kernel(relu());
  std::vector<std::string> schedules = {kernel.prior(), kernel.draw(1).front()};
  for (int leastRuns : {20, 2000000000}) {
    MeasureOptions together = options();
    together.maxSamples = 50;
    together.companySeconds = leastRuns > 20 ? 0.05 : 60;
    together.beside = std::make_shared<lab::PackageCompanion>(lab::halfMember(folder.path, "beside"), leastRuns);
    together.cpus = lab::CpuAffinity::read();
    Measurer measurer(together);
    std::vector<Measurement> measured = measurer.measure(kernel.task, schedules, unmeasured);
    for (const TurnMeasurement &one : measurer.inTurns(kernel.task, schedules, 0.5))
      measured.push_back(one);
    for (const Measurement &one : measured) {
      if (leastRuns > 20) {
        EXPECT_EQ(one.status, PointStatus::mistrusted) << one.reason;
        EXPECT_THAT(one.reason, HasSubstr("runs of the companion ended within the timed runs, expected at least 2000"));
        continue;
      }
      ASSERT_EQ(one.status, PointStatus::passed) << one.reason;
      EXPECT_TRUE(one.inCompany);
      EXPECT_EQ(one.best(), lab::median(one.seconds));
    }
    EXPECT_LE(measured[0].seconds.size(), 50u);
    EXPECT_GE(together.beside->runs(), leastRuns > 20 ? 1u : 21u);
  }
}

/// The number of 12 schedules that pass with a batch of four images one by one.
int passedByImages(const MeasureOptions &options, int threads = 1) {
  Kernel kernel(conv(testTarget().channelBlock(), 4), threads);
  kernel.task.order = BatchOrder::images;
  Measurer measurer(options);
  int passed = 0;
  for (const Measurement &one : measurer.measure(kernel.task, kernel.draw(12), unmeasured)) {
    passed += one.passed();
    if (one.status == PointStatus::unimplemented) {
      EXPECT_EQ(one.reason, "the work items of the schedule do not divide into images") << one.schedule;
    }
  }
  return passed;
}

/// The first images are computed again in every run, and compared after the last run.
TEST(Measure, passesABatchImageByImage) {
  for (int threads : {1, 2, 3})
    EXPECT_GT(passedByImages(options(threads), threads), 0) << threads << " threads";
  MeasureOptions wrong = options();
  wrong.alterCandidate = [](nlohmann::json &candidate) { candidate["images"] = 3; };
  EXPECT_EQ(passedByImages(wrong), 0);
}

/// Packed weights that differ in the blocks of the reduction are stored separately.
TEST(Measure, packsWeightsForEachSchedule) {
  std::string x = "tensor<40x96xf32>", w = "tensor<96x70xf32>", y = "tensor<40x70xf32>";
  Kernel kernel(function("contraction", fmt::format("%x: {}, %w: {} {{nn.constant}}", x, w), y,
                         fmt::format("  %y = nn.matmul %x, %w : ({}, {}) -> {}\n", x, w, y)));
  Measurer measurer(options());
  expectPassed(measurer.measure(kernel.task, {"gemm/2 kc=32 vectors=1", "gemm/2 kc=64 vectors=1", "gemm/2 vectors=1"},
                                unmeasured));
}

TEST(Measure, drawsLegalOperands) {
  std::string x = "tensor<64x8xf32>", i = "tensor<5x8xi64>", y = "tensor<5x8xf32>";
  Kernel indexed(
      function("indexed", fmt::format("%x: {}, %i: {}", x, i), y,
               fmt::format("  %y = nn.gather_elements %x, %i {{axis = 0 : i64}} : ({}, {}) -> {}\n", x, i, y)));
  Measurer measurer(options());
  expectPassed(measurer.measure(indexed.task, {indexed.prior()}, unmeasured));

  std::string m = "tensor<1x64xi64>", b = "tensor<1x64xi1>", f = "tensor<1x64xf32>"; // an attention mask
  Kernel mask(
      function("elementwise", "%m: " + m, f,
               fmt::format("  %b = nn.cast %m {{to = i1}} : ({}) -> {}\n  %y = nn.cast %b {{to = f32}} : ({}) -> {}\n",
                           m, b, b, f)));
  expectPassed(measurer.measure(mask.task, {mask.prior()}, unmeasured));

  std::string open = "tensor<?x24xf32>";
  Kernel symbolic(function("elementwise", fmt::format("%x: {} {{nn.dims = [\"N\", \"24\"]}}", open), open,
                           fmt::format("  %y = nn.tanh %x : ({0}) -> {0}\n", open)));
  symbolic.task.extents = {{"N", 7}};
  expectPassed(measurer.measure(symbolic.task, {symbolic.prior()}, unmeasured));
  symbolic.task.extents.clear();
  Outcome<bool> prepared = measurer.prepare(symbolic.task);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.reason(), HasSubstr("symbol 'N'"));
}

TEST(Measure, declinesResultsThatSayNothing) {
  std::string x = "tensor<16xf32>";
  Kernel kernel(
      function("elementwise", "%x: " + x, x,
               fmt::format("  %z = nn.sub %x, %x : ({0}, {0}) -> {0}\n  %y = nn.abs %z : ({0}) -> {0}\n", x)));
  Measurer measurer(options());
  Outcome<bool> prepared = measurer.prepare(kernel.task);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.reason(), HasSubstr("all zero"));
}

TEST(Measure, refusesATaskOfOtherOptions) {
  Kernel kernel(relu());
  Measurer measurer(options(2)); // the key says one thread
  EXPECT_THAT([&] { measurer.prepare(kernel.task); }, testing::ThrowsMessage<Error>(HasSubstr("1 thread")));
}

TEST(Measure, recordsIllegalAndUnknownSchedules) {
  Kernel kernel(conv(testTarget().channelBlock()));
  Measurer measurer(options());
  auto measured =
      measurer.measure(kernel.task, {"direct/1 px=30 oc=8", "direct/1 colour=3", kernel.prior()}, unmeasured);
  EXPECT_EQ(measured[0].status, PointStatus::unimplemented);
  EXPECT_THAT(measured[0].reason, HasSubstr("registers"));
  EXPECT_EQ(measured[1].status, PointStatus::failed);
  EXPECT_THAT(measured[1].reason, HasSubstr("colour"));
  EXPECT_EQ(measured[2].status, PointStatus::passed) << measured[2].reason;
}

TEST(Measure, refusesLessPrecisionThanAskedFor) {
  Kernel kernel(conv(testTarget().channelBlock()));
  std::string schedule = "direct/1 type=bf16";
  if (!legal(*kernel.facts, readSchedule(schedule)))
    GTEST_SKIP() << "the target has no products of bf16";
  Measurer measurer(options());
  auto measured = measurer.measure(kernel.task, {schedule}, unmeasured);
  EXPECT_EQ(measured[0].status, PointStatus::failed);
  EXPECT_THAT(measured[0].reason, HasSubstr("relative error"));
  MeasureOptions given = options();
  auto compiling = nlohmann::json::parse(given.compiling).get<CompileChoices>();
  compiling.precision = Precision::bf16;
  given.compiling = nlohmann::json(compiling).dump();
  kernel.task.key += " | bf16";
  Measurer shorter(given);
  expectPassed(shorter.measure(kernel.task, {schedule}, unmeasured));
}

TEST(Measure, makesReferencesOnce) {
  process::TemporaryDirectory folder("measure-test");
  Kernel kernel(relu());
  MeasureOptions given = options();
  given.folder = folder.path.string();
  auto prepare = [&] { EXPECT_TRUE(Measurer(given).prepare(kernel.task)); };
  prepare();
  fs::path expected;
  for (auto &entry : fs::recursive_directory_iterator(folder.path))
    if (entry.path().filename().string().ends_with("expected0.bin"))
      expected = entry.path();
  ASSERT_FALSE(expected.empty());
  std::vector<char> right = readFile(expected.string());
  auto inode = [&] { // a rewritten file has another inode
    struct stat status;
    EXPECT_EQ(::stat(expected.c_str(), &status), 0);
    return status.st_ino;
  };
  auto first = inode();
  prepare();
  EXPECT_EQ(inode(), first);
  std::vector<char> wrong = right;
  wrong[8] ^= 64;
  writeFile(expected.string(), wrong);
  prepare();
  EXPECT_EQ(readFile(expected.string()), right);
}

// ---- Candidates that go wrong --------------------------------------------------------------------------------------

enum Kernels { right, crash, hang, eat, wrong, overrun, farOverrun, scribble, fickle, idle };

/// Replaces the code of a candidate.
void misbehave(nlohmann::json &candidate, Kernels kernel) {
  std::string given = environment("LATHE_TUNE_KERNELS");
  std::vector<char> image = readFile(given.empty() ? LATHE_MISBEHAVING : given);
  uint64_t entry = 0;
  std::memcpy(&entry, image.data() + kernel * sizeof entry, sizeof entry);
  candidate["code"] = toBase64(image);
  candidate["entry"] = entry;
  candidate["units"] = 1;
  candidate["scratch_bytes"] = 64;
}

/// Measures one candidate of each kind, and then a right one.
class Misbehaving : public testing::Test {
protected:
  Kernel kernel{relu()};
  int built = 0;
  std::vector<Kernels> kinds;

  MeasureOptions misbehaving(std::vector<Kernels> order) {
    kinds = std::move(order);
    MeasureOptions given = options();
    given.runSeconds = 3;
    given.runBytes = int64_t(128) << 20;
    given.alterCandidate = [this](nlohmann::json &candidate) { misbehave(candidate, kinds.at(size_t(built++))); };
    return given;
  }
  std::vector<std::string> schedules() const { return std::vector<std::string>(kinds.size(), kernel.prior()); }
};

TEST_F(Misbehaving, costsOneTrialEachWithItsReason) {
  Measurer measurer(misbehaving({right, crash, hang, eat, wrong, overrun, farOverrun, scribble, fickle, idle, right}));
  auto measured = measurer.measure(kernel.task, schedules(), unmeasured);
  auto expect = [&](size_t at, PointStatus status, const char *reason) {
    EXPECT_EQ(measured[at].status, status) << at << ": " << measured[at].reason;
    EXPECT_THAT(measured[at].reason, HasSubstr(reason));
    EXPECT_EQ(measured[at].seconds.empty(), status != PointStatus::passed);
  };
  expect(0, PointStatus::passed, "");
  expect(1, PointStatus::crashed, "signal 11");
  expect(2, PointStatus::timedOut, "no answer within 3 s");
  expect(3, PointStatus::memoryExceeded, "memory");
  expect(4, PointStatus::failed, "result 0: relative error");
  expect(5, PointStatus::failed, "result 0: the kernel writes outside of it");
  expect(6, PointStatus::crashed, "signal 11");
  expect(7, PointStatus::crashed, "signal 11");
  expect(8, PointStatus::failed, "in a later run, result 0");
  expect(9, PointStatus::failed, "not finite on one side");
  expect(10, PointStatus::passed, "");
}

TEST_F(Misbehaving, getsNoFurtherTurns) {
  Measurer measurer(misbehaving({right, fickle, wrong, crash, right}));
  std::vector<TurnMeasurement> measured = measurer.inTurns(kernel.task, schedules(), 1);
  EXPECT_EQ(measured[0].status, PointStatus::passed) << measured[0].reason;
  EXPECT_EQ(measured[1].status, PointStatus::failed);
  EXPECT_EQ(measured[2].status, PointStatus::failed);
  EXPECT_EQ(measured[3].status, PointStatus::crashed);
  EXPECT_EQ(measured[4].status, PointStatus::passed) << measured[4].reason;
  EXPECT_GE(measured[4].seconds.size(), 3u);
  EXPECT_GT(measured[4].toFirst.ratio.ratio, 0);
  EXPECT_EQ(measured[3].toFirst.ratio.ratio, 0);
}

TEST_F(Misbehaving, slowCandidatesAreNotRepeated) {
  Measurer measurer(misbehaving({right, right}));
  auto measured = measurer.measure(kernel.task, {kernel.prior()}, 1e-9); // nothing reaches this time
  expectPassed(measured);
  EXPECT_LE(measured[0].seconds.size(), 32u);
  measured = measurer.measure(kernel.task, {kernel.prior()}, 1e3);
  EXPECT_GE(measured[0].seconds.size(), 8u);
}

TEST(Measure, startsABuilderAgain) {
  Kernel kernel(relu());
  MeasureOptions given = options();
  given.builder = LATHE_SOURCE_DIR "/src/laboratory/tune/measure/testing/FlakyBuilder.py";
  given.buildSeconds = 10;
  ::setenv("LATHE_TUNE_BUILDER", LATHE_BINARY_DIR "/bin/lathe-tune-builder", 1);
  Measurer measurer(given);
  auto measured =
      measurer.measure(kernel.task, {"crash/1", kernel.prior(), "hang/1", "garbage/1", kernel.prior()}, unmeasured);
  EXPECT_EQ(measured[0].status, PointStatus::crashed);
  EXPECT_THAT(measured[0].reason, HasSubstr("signal 11"));
  EXPECT_EQ(measured[1].status, PointStatus::passed) << measured[1].reason;
  EXPECT_EQ(measured[2].status, PointStatus::timedOut) << measured[2].reason;
  EXPECT_EQ(measured[3].status, PointStatus::crashed);
  EXPECT_THAT(measured[3].reason, HasSubstr("this is no message"));
  EXPECT_EQ(measured[4].status, PointStatus::passed) << measured[4].reason;
}

TEST(Measure, sendsFilesThroughAPipe) {
  if (!environment("LATHE_TUNE_VIA").empty())
    GTEST_SKIP() << "every test does";
  Kernel kernel(conv(testTarget().channelBlock()));
  MeasureOptions given = options();
  given.via = "env"; // a runner behind --via opens no local files
  Measurer measurer(given);
  expectPassed(measurer.measure(kernel.task, kernel.draw(3), unmeasured));
}

TEST(Measure, saysWhichProgramIsMissing) {
  Kernel kernel(relu());
  MeasureOptions given = options();
  given.runner = "/nowhere/lathe-tune-runner";
  Measurer measurer(given);
  EXPECT_THAT([&] { measurer.measure(kernel.task, {kernel.prior()}, unmeasured); },
              testing::ThrowsMessage<Error>(HasSubstr("/nowhere/lathe-tune-runner")));
}

} // namespace
} // namespace lathe::tune
