// The runner of ONNX Runtime (lab/runners/onnxruntime/): its protocol, and errors for other libraries.
#include "lab/compare/Compare.h"
#include "lab/compare/OnnxRuntimePlace.h"
#include "lab/compare/Runner.h"
#include "lab/problems/OnnxTypes.h"
#include "process/TemporaryDirectory.h"
#include "runtime/NpyTensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>

using namespace lathe;
using namespace lathe::lab;
using process::FailureKind;
namespace fs = std::filesystem;

namespace {

// Functions that write fields of onnx.proto, as lab/compare/CallOnnx.cpp does. The tests need models that `lathe export`
// never writes.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7)
    bytes += char(value | 128);
  return bytes + char(value);
}
std::string number(int field, uint64_t value) { return varint(uint64_t(field) << 3) + varint(value); }
std::string text(int field, const std::string &content) {
  return varint(uint64_t(field) << 3 | 2) + varint(content.size()) + content;
}
std::string dims(const std::vector<std::string> &extents) {
  std::string shape;
  for (auto &extent : extents)
    shape +=
        text(1, std::isdigit(static_cast<unsigned char>(extent[0])) ? number(1, std::stoull(extent)) : text(2, extent));
  return shape;
}
std::string tensorPort(const std::string &name, int type, const std::vector<std::string> &extents) {
  return text(1, name) + text(2, text(1, number(1, uint64_t(type)) + text(2, dims(extents))));
}
std::string sequencePort(const std::string &name) { // a sequence of f32 tensors
  return text(1, name) + text(2, text(4, text(1, text(1, number(1, 1) + text(2, dims({"2"}))))));
}
std::string node(const std::string &op, const std::vector<std::string> &from, const std::string &to) {
  std::string bytes;
  for (auto &name : from)
    bytes += text(1, name);
  return text(1, bytes + text(2, to) + text(4, op));
}
std::string model(const std::string &nodes, const std::vector<std::string> &from, const std::vector<std::string> &to) {
  std::string graph = nodes + text(2, "g");
  for (auto &port : from)
    graph += text(11, port);
  for (auto &port : to)
    graph += text(12, port);
  return number(1, 8) + text(7, graph) + text(8, text(1, "") + number(2, 13));
}
/// "y0" is "x0", "y1" is "x1", ...
std::string identities(const std::vector<CallInput> &inputs) {
  std::string nodes;
  std::vector<std::string> from, to;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string x = "x" + std::to_string(i), y = "y" + std::to_string(i);
    std::vector<std::string> extents;
    for (int64_t extent : inputs[i].dims)
      extents.push_back(std::to_string(extent));
    nodes += node("Identity", {x}, y);
    from.push_back(tensorPort(x, onnxNumber(inputs[i].type), extents));
    to.push_back(tensorPort(y, onnxNumber(inputs[i].type), extents));
  }
  return model(nodes, from, to);
}

} // namespace

class OnnxRuntimeRunnerTest : public testing::Test {
protected:
  std::string file(const std::string &name, const std::string &content) {
    std::string path = (directory.path / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string npy(const std::string &name, const Tensor &tensor) {
    std::string path = (directory.path / name).string();
    writeNpy(path, npyView(tensor));
    return path;
  }
  static Tensor read(const std::string &path) { return toTensor(readNpy(path)); }
  static std::string errorOf(const auto &result) { return result.ok() ? "" : result.failure().message(); }

  process::TemporaryDirectory directory{"onnxruntime-runner-test"};
};

/// Tests that need the library.
class OnnxRuntime : public OnnxRuntimeRunnerTest {
protected:
  void SetUp() override {
    auto spec = findRunner("onnxruntime");
    if (!spec)
      GTEST_SKIP() << "ONNX RUNTIME IS NOT INSTALLED: " << spec.reason();
    auto started = Runner::start(*spec);
    ASSERT_TRUE(started.ok()) << started.failure().message();
    runner.emplace(std::move(*started));
  }
  std::optional<Runner> runner;
};

TEST_F(OnnxRuntime, saysWhatItIs) {
  EXPECT_TRUE(runner->version().starts_with("1.")) << runner->version();
  EXPECT_EQ(runner->settings()["graph_optimization"], "all");
  EXPECT_EQ(errorOf(runner->time(0, 1)), "onnxruntime: 'time' before 'load'");
}

TEST_F(OnnxRuntime, runsNodesInSequenceOrInParallel) {
  EXPECT_EQ(runner->settings()["execution"], "sequential");
  auto spec = findRunner("onnxruntime-parallel");
  ASSERT_TRUE(spec) << spec.reason();
  auto other = Runner::start(*spec);
  ASSERT_TRUE(other.ok()) << other.failure().message();
  EXPECT_EQ(other->settings()["execution"], "parallel");
  const Tensor x = Tensor::of<float>({2}, {3, 4});
  std::vector<CallInput> inputs(2, {ElementType::f32, x.dims()});
  ASSERT_TRUE(other->load(file("two.onnx", identities(inputs)), 2).ok());
  ASSERT_TRUE(other->setInputs({{"x0", npy("x.npy", x)}, {"x1", npy("x.npy", x)}}).ok());
  auto outputs = other->run(directory.path.string());
  ASSERT_TRUE(outputs.ok()) << outputs.failure().message();
  for (const char *name : {"y0", "y1"})
    EXPECT_EQ(std::memcmp(read(outputs->at(name)).data(), x.data(), size_t(x.bytes())), 0) << name;
}

TEST_F(OnnxRuntime, everyTypeOfNpyFilesPassesThrough) {
  for (auto type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16, ElementType::i8,
                    ElementType::i16, ElementType::i32, ElementType::i64, ElementType::u8, ElementType::u16,
                    ElementType::u32, ElementType::u64, ElementType::boolean}) {
    SCOPED_TRACE(std::string(name(type)));
    Tensor x = Tensor::of<float>({2, 3}, {0, 1, 1, 0, 1, 0}).convertedTo(type);
    auto loaded = runner->load(file("identity.onnx", identities({{type, x.dims()}})), 1);
    ASSERT_TRUE(loaded.ok()) << loaded.failure().message();
    EXPECT_EQ(loaded->inputs.at(0).type, name(type));
    EXPECT_EQ(loaded->outputs.at(0).dims, (std::vector<std::string>{"2", "3"}));
    ASSERT_TRUE(runner->setInputs({{"x0", npy("x.npy", x)}}).ok());
    for (int times : {1, 2}) { // first into the session's memory, then into the runner's
      auto outputs = runner->run(directory.path.string());
      ASSERT_TRUE(outputs.ok()) << times << ": " << outputs.failure().message();
      Tensor y = read(outputs->at("y0"));
      ASSERT_EQ(y.type(), type);
      ASSERT_EQ(y.dims(), x.dims());
      EXPECT_EQ(std::memcmp(x.data(), y.data(), size_t(x.bytes())), 0) << times;
    }
  }
}

TEST_F(OnnxRuntime, extentsOfOutputsFollowTheInputs) {
  auto path =
      file("nonzero.onnx", model(node("NonZero", {"x"}, "at") + node("Relu", {"x"}, "y"), {tensorPort("x", 1, {"N"})},
                                 {tensorPort("at", 7, {"1", "found"}), tensorPort("y", 1, {"N"})}));
  auto loaded = runner->load(path, 1);
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message();
  EXPECT_EQ(loaded->inputs.at(0).dims, std::vector<std::string>{"N"});
  EXPECT_EQ(loaded->outputs.at(0).dims, (std::vector<std::string>{"1", "found"}));
  auto foundIn = [&](const Tensor &x) {
    EXPECT_TRUE(runner->setInputs({{"x", npy("x.npy", x)}}).ok());
    EXPECT_EQ(errorOf(runner->time(0, 3)), "");
    auto outputs = runner->run(directory.path.string());
    EXPECT_TRUE(outputs.ok()) << errorOf(outputs);
    EXPECT_EQ(read(outputs->at("y")).dims(), x.dims());
    return read(outputs->at("at"));
  };
  Tensor found = foundIn(Tensor::of<float>({4}, {0, 3, 0, 5}));
  ASSERT_EQ(found.dims(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(found.as<int64_t>()[1], 3);
  EXPECT_EQ(foundIn(Tensor::of<float>({2}, {0, 0})).dims(), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(foundIn(Tensor(ElementType::f32, {0})).dims(), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(foundIn(Tensor::of<float>({3}, {1, 1, 1})).dims(), (std::vector<int64_t>{1, 3}));
  ASSERT_TRUE(runner->setThreads(2).ok()); // inputs must stay bound
  EXPECT_EQ(read(runner->run(directory.path.string())->at("at")).dims(), (std::vector<int64_t>{1, 3}));
}

TEST_F(OnnxRuntime, extentsThatChangeFromRunToRun) {
  auto ints = [](const std::string &name, uint64_t value) {
    return text(5, text(1, name) + number(8, value) + number(20, 7));
  };
  std::string random = text(1, text(2, "r") + text(4, "RandomUniform") + ints("shape", 1000));
  std::string rounded = node("Round", {"r"}, "bits"); // 0 or 1, about as many of each
  ASSERT_TRUE(runner
                  ->load(file("random.onnx", model(random + rounded + node("NonZero", {"bits"}, "at"), {},
                                                   {tensorPort("at", 7, {"1", "found"})})),
                         1)
                  .ok());
  std::set<int64_t> counts;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(errorOf(runner->time(1, 2)), "");
    auto outputs = runner->run(directory.path.string());
    ASSERT_TRUE(outputs.ok()) << errorOf(outputs);
    counts.insert(read(outputs->at("at")).dim(1));
  }
  EXPECT_GT(counts.size(), 1u);
}

TEST_F(OnnxRuntime, timesAndCounts) {
  std::vector<CallInput> ports{{ElementType::f32, {64, 64}}, {ElementType::i64, {}}};
  ASSERT_TRUE(runner->load(file("two.onnx", identities(ports)), 2).ok());
  Tensor first = Tensor(ElementType::f32, {64, 64}), second = Tensor::of<int64_t>({}, {7});
  std::memset(first.data(), 0, size_t(first.bytes()));
  ASSERT_TRUE(runner->setInputs({{"x0", npy("0.npy", first)}, {"x1", npy("1.npy", second)}}).ok());
  auto timing = runner->time(0, 7);
  ASSERT_TRUE(timing.ok()) << timing.failure().message();
  EXPECT_EQ(timing->seconds.size(), 7u);
  EXPECT_GT(timing->counts.cpuNs.value_or(0), 0);
  EXPECT_EQ(timing->counts.cycles.has_value(), runner->uncounted().empty()) << runner->uncounted();
  EXPECT_EQ(read(runner->run(directory.path.string())->at("y1")).as<int64_t>()[0], 7);
}

/// The call whose overhead is measured: with inputs that no node reads.
TEST_F(OnnxRuntime, callsWithInputsOfEveryKind) {
  std::vector<CallInput> inputs{{ElementType::bf16, {2, 3}}, {ElementType::i64, {}}, {ElementType::boolean, {0, 4}}};
  auto loaded = runner->load(file("call.onnx", callOnnx(inputs)), 1);
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message();
  ASSERT_EQ(loaded->inputs.size(), 4u);
  EXPECT_EQ(loaded->inputs[2].dims, (std::vector<std::string>{"0", "4"}));
  std::map<std::string, std::string> files{{"one", npy("one.npy", Tensor::of<float>({1}, {1}))}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto values = Tensor(ElementType::i8, inputs[i].dims);
    std::memset(values.data(), 1, size_t(values.bytes()));
    auto name = "x" + std::to_string(i);
    files[name] = npy(name + ".npy", values.convertedTo(inputs[i].type));
  }
  ASSERT_EQ(errorOf(runner->setInputs(files)), "");
  EXPECT_EQ(errorOf(runner->time(1, 3)), "");
  EXPECT_EQ(read(runner->run(directory.path.string())->at("y")).as<float>()[0], 1);
}

TEST_F(OnnxRuntime, wrongInputs) {
  auto path = file("identity.onnx", identities({{ElementType::f32, {2}}}));
  ASSERT_TRUE(runner->load(path, 1).ok());
  EXPECT_EQ(errorOf(runner->time(0, 1)), "onnxruntime: input 'x0' has no array");
  auto two = npy("x.npy", Tensor::of<float>({2}, {1, 2}));
  EXPECT_EQ(errorOf(runner->setInputs({{"x", two}})), "onnxruntime: no input 'x'");
  EXPECT_EQ(errorOf(runner->setInputs({{"x0", npy("i.npy", Tensor::of<int32_t>({2}, {1, 2}))}})),
            "onnxruntime: input 'x0': an array of i32, expected f32");
  ASSERT_TRUE(runner->setInputs({{"x0", npy("3.npy", Tensor::of<float>({3}, {1, 2, 3}))}}).ok());
  EXPECT_NE(errorOf(runner->run(directory.path.string())).find("x0"), std::string::npos);
  EXPECT_NE(errorOf(runner->setInputs({{"x0", file("no.npy", "text")}})).find("no.npy"), std::string::npos);
  ASSERT_TRUE(runner->setInputs({{"x0", two}}).ok()); // the runner still works
  EXPECT_TRUE(runner->run(directory.path.string()).ok());
}

TEST_F(OnnxRuntime, modelsThatItCannotRun) {
  auto errorOfModel = [&](const std::string &bytes) {
    auto loaded = runner->load(file("broken.onnx", bytes), 1);
    std::string error = errorOf(loaded);
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_EQ(errorOf(runner->time(0, 1)), "onnxruntime: 'time' before 'load'");
    return error;
  };
  EXPECT_NE(errorOfModel("no model").find("INVALID_PROTOBUF"), std::string::npos) << errorOfModel("no model");
  EXPECT_NE(errorOf(runner->load("/absent/model.onnx", 1)).find("/absent/model.onnx"), std::string::npos);
  EXPECT_EQ(errorOf(runner->load("/absent/model.onnx", 0)), "onnxruntime: 0 threads, expected at least 1");
  EXPECT_NE(
      errorOfModel(model(node("Frobnicate", {"x"}, "y"), {tensorPort("x", 1, {"2"})}, {tensorPort("y", 1, {"2"})}))
          .find("Frobnicate"),
      std::string::npos);
  EXPECT_EQ(errorOfModel(model(node("Identity", {"x"}, "y"), {tensorPort("x", 8, {"2"})}, {tensorPort("y", 8, {"2"})})),
            "onnxruntime: input 'x' is a tensor of string, expected numbers or booleans that .npy files hold: runners "
            "exchange nothing else");
  EXPECT_EQ(
      errorOfModel(model(node("SequenceConstruct", {"x"}, "s"), {tensorPort("x", 1, {"2"})}, {sequencePort("s")})),
      "onnxruntime: output 's' is a sequence, expected a tensor: runners exchange nothing else");
}

TEST(OnnxTypes, numbersThereAndBack) {
  for (int number = 1; number <= 22; ++number)
    if (number != 14 && number != 15) { // complex
      ASSERT_NE(elementTypeFromOnnx(number), ElementType::invalid) << number;
      EXPECT_EQ(onnxNumber(elementTypeFromOnnx(number)), number);
    }
  EXPECT_EQ(onnxNumber(ElementType::f32), 1);
  EXPECT_EQ(onnxNumber(ElementType::bf16), 16);
  EXPECT_EQ(elementTypeFromOnnx(14), ElementType::invalid);
  EXPECT_EQ(onnxTypeName(15), "type 15");
  EXPECT_EQ(onnxTypeName(23), "type 23");
  EXPECT_EQ(onnxTypeName(-1), "type -1");
}

/// Another library at the path of ONNX Runtime's library.
class OtherLibrary : public OnnxRuntimeRunnerTest {
protected:
  std::string errorWith(const fs::path &library, const std::string &version = "") {
    for (const char *processor : {"x64", "arm64"}) {
      fs::path place = directory.path / "onnxruntime/node_modules/onnxruntime-node/bin/napi-v9/linux" / processor;
      fs::create_directories(place);
      fs::remove(place / "libonnxruntime.so.1");
      fs::create_symlink(library, place / "libonnxruntime.so.1");
    }
    ::setenv("LATHE_RUNNERS", directory.path.c_str(), 1);
    auto spec = findRunner("onnxruntime");
    ::unsetenv("LATHE_RUNNERS");
    if (!spec)
      return spec.reason();
    spec->command.environment["LATHE_RUNNERS"] = directory.path.string();
    spec->command.environment["FAKE_ONNXRUNTIME_VERSION"] = version;
    return errorOf(Runner::start(*spec));
  }
};

static const fs::path fakeLibrary = LATHE_BINARY_DIR "/lib/liblathe_fake_onnxruntime.so";

TEST_F(OtherLibrary, isRefusedInOneLine) {
  auto contains = [](const std::string &error, const std::string &words) {
    EXPECT_NE(error.find(words), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  };
  contains(errorWith(file("no-library", "text")), "libonnxruntime.so.1: cannot be loaded");
  contains(errorWith("/usr/lib/llvm-19/lib/libLLVM.so"), "has no OrtGetApiBase, so it is not ONNX Runtime");
  contains(errorWith(fakeLibrary, "2.0.0"), "is ONNX Runtime 2.0.0, expected 1.x with version 5 of the C API");
  contains(errorWith(fakeLibrary, "0.9.1"), "is ONNX Runtime 0.9.1, expected 1.x");
  contains(errorWith(fakeLibrary, "1.99.0"), "ONNX Runtime 1.99.0 has another C API than this program was written for");
}

TEST_F(OtherLibrary, whereNoneIsTheNextPlaceIsAsked) {
  ::setenv("LATHE_RUNNERS", directory.path.c_str(), 1);
  auto here = onnxRuntimeLibrary();
  ::unsetenv("LATHE_RUNNERS");
  EXPECT_EQ(here, onnxRuntimeLibrary());
}
