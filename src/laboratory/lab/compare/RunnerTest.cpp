#include "lab/compare/Runner.h"
#include "lab/compare/Compare.h"
#include "runtime/NpyTensor.h"
#include "runtime/testing/TestPlan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
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
    RunnerSpec spec{"fake", {}, {"fake"}};
    spec.command.argv = {"/usr/bin/python3", LATHE_SOURCE_DIR "/src/laboratory/lab/compare/FakeRunner.py"};
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
  ASSERT_EQ(samples->seconds.size(), 5u);
  EXPECT_NEAR(samples->seconds.front(), 2e-3, 1e-9);
  EXPECT_EQ(samples->counts, Counts()); // not in its answer
  EXPECT_TRUE(runner.setThreads(2).ok());
  runner.quit();
}

TEST_F(RunnerTest, errorsOfTheFrameworkAreAnswers) {
  Runner runner = started();
  auto loaded = runner.load((directory / "absent.json").string(), 1);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure().kind, FailureKind::threw);
  EXPECT_NE(loaded.failure().message().find("fake: "), std::string::npos);
  EXPECT_TRUE(runner.load(model({{"ms", 1}}), 1).ok()); // the runner still works
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

/// One line with the field, the expected and the actual value.
TEST_F(RunnerTest, greetingsThatLackSomething) {
  auto messageOf = [&](const char *hello) {
    RunnerSpec spec = fake();
    spec.command.argv.insert(spec.command.argv.end(), {"--hello", hello});
    auto runner = Runner::start(spec);
    EXPECT_FALSE(runner.ok()) << hello;
    return runner.ok() ? "" : runner.failure().message();
  };
  for (auto &[hello, says] : std::vector<std::pair<const char *, const char *>>{
           {"{}", R"(expected 1 as "protocol" of the runner protocol, got no such field)"},
           {R"({"protocol": "1", "version": "2"})", R"(expected 1 as "protocol" of the runner protocol, got "1")"},
           {R"({"protocol": 1})", R"(expected a text as "version" of the runner protocol, got no such field)"},
           {R"({"protocol": 1, "version": "2", "settings": 3})", R"(expected an object as "settings")"},
           {R"({"protocol": 1, "version": "2", "uncounted": []})", R"(expected a text as "uncounted")"}}) {
    std::string message = messageOf(hello);
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
  }
}

TEST_F(RunnerTest, unknownRunnersDeclineWithAReason) {
  auto found = findRunner("torch");
  ASSERT_FALSE(found.done());
  EXPECT_NE(found.reason().find("torch"), std::string::npos);
}

/// y = `from` / 2 for vectors of up to 64 elements, as a package file with the inputs `names`.
static void writeHalf(const std::string &path, const std::vector<std::string> &names, const std::string &from) {
  lathe::runtime::testing::TestPlan plan;
  uint32_t x = 0;
  for (const std::string &name : names) {
    uint32_t input = plan.input(name, {"N_" + name});
    if (name == from)
      x = input;
    auto range = std::make_unique<lathe::plan::RangeT>();
    range->symbol = "N_" + name;
    range->max = 64;
    plan.plan().ranges.push_back(std::move(range));
  }
  plan.half(x, plan.output("y", {"N_" + from}), "N_" + from);
  auto bytes = plan.bytes();
  std::ofstream(path, std::ios::binary).write(bytes.data(), int64_t(bytes.size()));
}

TEST_F(RunnerTest, packages) {
  auto spec = findRunner("lathe");
  ASSERT_TRUE(spec.done()) << spec.reason();
  std::string package = (directory / "half.lathe").string();
  writeHalf(package, {"x"}, "x");
  auto runner = Runner::start(*spec);
  ASSERT_TRUE(runner.ok()) << runner.failure().message();
  auto early = runner->time(0, 1);
  EXPECT_EQ(early.failure().kind, FailureKind::threw);
  auto absent = runner->load((directory / "absent.lathe").string(), 1);
  EXPECT_EQ(absent.failure().kind, FailureKind::threw);
  EXPECT_NE(absent.failure().message().find("absent.lathe"), std::string::npos);

  auto loaded = runner->load(package, 1);
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message();
  ASSERT_EQ(loaded->inputs.size(), 1u);
  EXPECT_EQ(loaded->inputs[0].dims, std::vector<std::string>{"N_x"});
  EXPECT_FALSE(runner->time(0, 1).ok()); // x was not bound
  EXPECT_FALSE(runner->setInputs({{"z", "/none.npy"}}).ok());
  lathe::Tensor x = lathe::Tensor::of<float>({3}, {2, 4, 8});
  std::string file = (directory / "x.npy").string();
  lathe::writeNpy(file, lathe::npyView(x));
  ASSERT_TRUE(runner->setInputs({{"x", file}}).ok());
  for (int threads : {1, 2}) {
    ASSERT_TRUE(runner->setThreads(threads).ok());
    auto outputs = runner->run(directory.string());
    ASSERT_TRUE(outputs.ok()) << outputs.failure().message();
    lathe::Tensor y = lathe::toTensor(lathe::readNpy(outputs->at("y")));
    ASSERT_EQ(y.elements(), 3);
    EXPECT_EQ(y.as<float>()[2], 4);
  }
  auto samples = runner->time(2, 7);
  ASSERT_TRUE(samples.ok()) << samples.failure().message();
  EXPECT_EQ(samples->seconds.size(), 7u);
  EXPECT_GT(samples->counts.cpuNs.value_or(0), 0);
  EXPECT_EQ(samples->counts.cycles.has_value(), runner->uncounted().empty()) << runner->uncounted();
  runner->quit();

  CompareOptions options; // also in a whole comparison
  options.dims["N_x"] = 16;
  options.maxRounds = 3;
  options.roundSeconds = 0.01;
  auto reference = findRunner("reference");
  ASSERT_TRUE(reference.done());
  std::string call = (directory / "call.lathe").string(); // like callOnnx, but halves instead of relu
  writeHalf(call, {"x0", "one"}, "one");
  std::vector<CallInput> asked;
  auto callWith = [&](const std::vector<CallInput> &inputs) {
    asked = inputs;
    return call;
  };
  auto comparison = compare({{*spec, package, callWith}, {*reference, package, {}}}, options);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].dims, std::vector<int64_t>{16}); // the sizes of this comparison
  EXPECT_TRUE(comparison.agrees()) << describe(comparison);
  EXPECT_EQ(comparison.sides[1].name, "reference");
  EXPECT_TRUE(comparison.peers[0].judged.has_value());
  EXPECT_TRUE(comparison.sides[0].overheadSeconds.has_value());
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

TEST_F(RunnerTest, aCommandTakesThePlaceOfTensorFlowLite) {
  setenv("LATHE_TFLITE_RUNNER", "/usr/bin/python3 '" LATHE_SOURCE_DIR "/src/laboratory/lab/compare/FakeRunner.py'", 1);
  auto spec = findRunner("tflite");
  setenv("LATHE_TFLITE_RUNNER", "python3 'native.py", 1);
  auto open = findRunner("tflite");
  unsetenv("LATHE_TFLITE_RUNNER");
  ASSERT_TRUE(spec.done()) << spec.reason();
  EXPECT_TRUE(spec->reads("tflite"));
  auto runner = Runner::start(*spec);
  ASSERT_TRUE(runner.ok()) << runner.failure().message();
  EXPECT_EQ(runner->version(), "0.1");
  runner->quit();
  ASSERT_FALSE(open.done());
  EXPECT_TRUE(open.reason().starts_with("LATHE_TFLITE_RUNNER=python3 'native.py: ")) << open.reason();
}

TEST_F(RunnerTest, tensorFlowLiteRuns) {
  auto spec = findRunner("tflite");
  if (!spec)
    GTEST_SKIP() << "TENSORFLOW LITE IS NOT INSTALLED: " << spec.reason();
  std::string path = LATHE_TEST_DATA "/models/tflite/kws_dscnn_int8.tflite";
  if (!fs::exists(path))
    GTEST_SKIP() << "no test data: " << path << " is absent";
  auto runner = Runner::start(*spec);
  ASSERT_TRUE(runner.ok()) << runner.failure().message();
  EXPECT_TRUE(runner->settings().contains("caution"));
  EXPECT_FALSE(runner->load(path, 2).ok()) << "it computes on one thread";
  auto loaded = runner->load(path, 1);
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message();
  ASSERT_EQ(loaded->inputs.size(), 1u);
  EXPECT_EQ(loaded->inputs[0].type, "i8");
  EXPECT_FALSE(runner->time(0, 1).ok()) << "its input is not bound";
  lathe::Tensor zeros(lathe::ElementType::i8, {1, 49, 10, 1});
  std::fill_n(zeros.as<int8_t>(), zeros.elements(), int8_t(0));
  std::string file = (directory / "zeros.npy").string();
  lathe::writeNpy(file, lathe::npyView(zeros));
  ASSERT_TRUE(runner->setInputs({{loaded->inputs[0].name, file}}).ok());
  auto outputs = runner->run(directory.string());
  ASSERT_TRUE(outputs.ok()) << outputs.failure().message();
  lathe::Tensor scores = lathe::toTensor(lathe::readNpy(outputs->at(loaded->outputs.at(0).name)));
  EXPECT_EQ(scores.dims(), (std::vector<int64_t>{1, 12}));
  double sum = 0; // of a softmax, in units of 1/256 from -128
  for (int64_t i = 0; i < scores.elements(); ++i)
    sum += scores.asDouble(i) + 128;
  EXPECT_NEAR(sum, 256, 12);
  auto samples = runner->time(1, 3);
  ASSERT_TRUE(samples.ok()) << samples.failure().message();
  EXPECT_EQ(samples->seconds.size(), 3u);
  runner->quit();
}
