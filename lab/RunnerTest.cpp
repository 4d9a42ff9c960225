#include "lab/Runner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace lathe::lab;
using lathe::process::FailureKind;
namespace fs = std::filesystem;

class RunnerTest : public testing::Test {
protected:
  void SetUp() override {
    directory = fs::temp_directory_path() / ("lathe-runner-test-" + std::to_string(getpid()));
    fs::create_directories(directory);
  }
  void TearDown() override { fs::remove_all(directory); }

  static RunnerSpec fake() {
    RunnerSpec spec{"fake", {}, "fake"};
    spec.command.argv = {"/usr/bin/python3", LATHE_SOURCE_DIR "/lab/FakeRunner.py"};
    return spec;
  }
  std::string model(const nlohmann::json &text) {
    std::string path = (directory / ("model" + std::to_string(models++) + ".json")).string();
    std::ofstream(path) << text;
    return path;
  }
  Runner started(const RunnerTimeouts &timeouts = {}) {
    auto runner = Runner::start(fake(), {}, timeouts);
    if (!runner)
      throw std::runtime_error(runner.failure().message());
    return std::move(*runner);
  }
  fs::path directory;
  int models = 0;
};

TEST_F(RunnerTest, conversation) {
  Runner runner = started();
  EXPECT_EQ(runner.version(), "0.1");
  EXPECT_EQ(runner.settings()["kind"], "test");
  auto loaded = runner.load(model({{"ms", 2}}), 1);
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message();
  EXPECT_EQ(loaded->inputs.at(0).name, "x");
  EXPECT_EQ(loaded->inputs.at(0).dims, (std::vector<std::string>{"N", "4"}));
  runner.pause();
  runner.resume();
  auto samples = runner.time(1, 5);
  ASSERT_TRUE(samples.ok()) << samples.failure().message();
  ASSERT_EQ(samples->size(), 5u);
  EXPECT_NEAR(samples->front(), 2e-3, 1e-9);
  EXPECT_TRUE(runner.setThreads(2).ok());
  runner.quit();
}

TEST_F(RunnerTest, errorsOfTheFrameworkAreAnswers) {
  Runner runner = started();
  auto loaded = runner.load((directory / "absent.json").string(), 1);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure().kind, FailureKind::threw);
  EXPECT_NE(loaded.failure().message().find("fake: "), std::string::npos);
  EXPECT_TRUE(runner.load(model({{"ms", 1}}), 1).ok()); // and it goes on
}

TEST_F(RunnerTest, misbehaviour) {
  RunnerTimeouts timeouts;
  timeouts.run = 0.3;
  auto failureWhen = [&](const char *how) {
    Runner runner = started(timeouts);
    EXPECT_TRUE(runner.load(model({{"misbehave", {{"time", how}}}}), 1).ok());
    return runner.time(0, 1).failure().kind;
  };
  EXPECT_EQ(failureWhen("crash"), FailureKind::crashed);
  EXPECT_EQ(failureWhen("hang"), FailureKind::timedOut);
  EXPECT_EQ(failureWhen("garbage"), FailureKind::garbage);
  EXPECT_EQ(failureWhen("error"), FailureKind::threw);
  EXPECT_EQ(failureWhen("empty"), FailureKind::garbage); // ok, but no samples in it
}

TEST_F(RunnerTest, otherProtocolVersion) {
  RunnerSpec spec = fake();
  spec.command.argv.push_back("--newer");
  auto runner = Runner::start(spec);
  ASSERT_FALSE(runner.ok());
  EXPECT_NE(runner.failure().message().find("version 2"), std::string::npos) << runner.failure().message();
}

TEST_F(RunnerTest, unknownRunnersDeclineWithAReason) {
  auto found = findRunner("torch");
  ASSERT_FALSE(found.done());
  EXPECT_NE(found.reason().find("torch"), std::string::npos);
}

TEST_F(RunnerTest, onnxRuntimeLoadsANetwork) {
  auto spec = findRunner("onnxruntime");
  if (!spec)
    GTEST_SKIP() << spec.reason();
  std::string path = LATHE_TEST_DATA "/models/onnx/light_squeezenet.onnx";
  if (!fs::exists(path))
    GTEST_SKIP() << "no test data: " << path << " is absent";
  auto runner = Runner::start(*spec);
  ASSERT_TRUE(runner.ok()) << runner.failure().message();
  auto loaded = runner->load(path, 1);
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message();
  ASSERT_EQ(loaded->inputs.size(), 1u);
  EXPECT_EQ(loaded->inputs[0].type, "f32");
  EXPECT_EQ(loaded->inputs[0].dims, (std::vector<std::string>{"1", "3", "224", "224"}));
  auto unbound = runner->time(0, 1);
  ASSERT_FALSE(unbound.ok());
  EXPECT_EQ(unbound.failure().kind, FailureKind::threw);
  runner->quit();
}
