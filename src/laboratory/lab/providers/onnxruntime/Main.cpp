// ONNX Runtime as a provider: a problem becomes an ONNX model of one node and its epilogue, with constant operands as
// initializers, and runs in the runner that `lathe compare` uses. Times are taken inside that process: each is a whole
// session call with bound operands and results; `settings` states the time of a call that computes nothing.
#include "export/onnx/Export.h"
#include "ir/Context.h"
#include "lab/compare/Compare.h"
#include "lab/compare/Runner.h"
#include "lab/providers/graph/ProblemGraph.h"
#include "process/TemporaryDirectory.h"
#include "runtime/NpyTensor.h"

#include <algorithm>
#include <fstream>

using namespace lathe;
using namespace lathe::lab;

namespace {

/// Returns the value; throws the failure as an Error.
template <class T> T valueOf(process::Result<T> result) {
  require(result.ok(), "{}", result.ok() ? "" : result.failure().message());
  return std::move(*result);
}

/// True for its message about a missing kernel for these types or attributes.
bool saysUnimplemented(const std::string &message) {
  return message.find("NOT_IMPLEMENTED") != std::string::npos ||
         message.find("Could not find an implementation") != std::string::npos ||
         message.find("Exception during initialization") != std::string::npos ||
         message.find("is not supported") != std::string::npos;
}

class OnnxRuntime : public Provider {
public:
  std::string name() const override { return "onnxruntime"; }
  std::string version() const override { return runner().version(); }
  std::map<std::string, std::vector<std::string>> variants() const override {
    std::map<std::string, std::vector<std::string>> result;
    for (const OpRecord &record : opRecords())
      if (record.isIn("onnx"))
        result[record.name] = {"auto"};
    return result;
  }
  nlohmann::json settings() const override {
    auto path = (directory.path / "call.onnx").string(), input = (directory.path / "one.npy").string();
    std::ofstream(path, std::ios::binary) << callOnnx({});
    writeNpy(input, npyView(Tensor::of<float>({1}, {1.0f})));
    auto seconds = awake([&](Runner &runner) {
      valueOf(runner.load(path, 1));
      valueOf(runner.setInputs({{"one", input}}));
      return valueOf(runner.time(100, 101)).seconds;
    });
    std::nth_element(seconds.begin(), seconds.begin() + 50, seconds.end());
    auto settings = runner().settings();
    settings["empty_call_ns"] = int64_t(seconds[50] * 1e9);
    return settings;
  }

  Outcome<std::string> prepare(const Problem &problem, const ProviderRequest &request,
                               const ProblemInputs &inputs) override {
    // It reports this when it runs, not when it loads.
    for (auto &operand : problem.operands)
      if (operand.name.ends_with("_zero_point") && operand.elements() != 1)
        return NotApplicable{
            fmt::format("ONNX Runtime has one zero point a tensor, '{}' has {}", operand.name, operand.elements())};
    auto model = (directory.path / "model.onnx").string();
    try {
      auto context = makeContext();
      auto graph = problemGraph(context.get(), problem, inputs);
      exportOnnxFile(*graph, model);
    } catch (const Error &error) {
      return NotApplicable{std::string("not as ONNX: ") + error.what()};
    }
    std::map<std::string, std::string> files;
    auto operands = problem.inputs();
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i] && !operands[i]->constant) {
        auto name = fmt::format("in{}", i);
        files[name] = (directory.path / (name + ".npy")).string();
        writeNpy(files[name], npyView(inputs[i]));
      }
    results = problem.results().size();
    return awake([&](Runner &runner) -> Outcome<std::string> {
      auto loaded = runner.load(model, request.threads);
      if (!loaded && saysUnimplemented(loaded.failure().message()))
        return NotApplicable{loaded.failure().message()};
      valueOf(std::move(loaded));
      valueOf(runner.setInputs(files));
      std::string nodes = problem.op;
      for (auto &applied : problem.epilogue)
        nodes += "+" + applied;
      return "session of " + nodes + ", row-major";
    });
  }

  void run() override {
    files = awake([&](Runner &runner) { return valueOf(runner.run(directory.path.string())); });
  }

  std::optional<Timing> time(int warmup, int repetitions) override {
    return awake([&](Runner &runner) { return valueOf(runner.time(warmup, repetitions)); });
  }
  bool computesHere() const override { return false; }
  std::string uncounted() const override { return runner().uncounted(); }

  std::vector<Tensor> outputs() override {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < results; ++i) {
      auto file = files.find(fmt::format("out{}", i));
      require(file != files.end(), "no output {}", i);
      tensors.push_back(toTensor(readNpy(file->second)));
    }
    return tensors;
  }

private:
  process::TemporaryDirectory directory{"provider-onnxruntime"};
  mutable std::optional<Runner> started;
  std::map<std::string, std::string> files; // files of the last run
  size_t results = 0;

  /// Starts it on demand, and again after it has ended.
  Runner &runner() const {
    if (!started || !started->alive()) {
      auto spec = findRunner("onnxruntime");
      require(spec.done(), "{}", spec.done() ? "" : spec.reason());
      spec->command.argv.push_back("--huge-pages"); // like providers that compute in their own process
      started.emplace(valueOf(Runner::start(*spec)));
    }
    return *started;
  }

  /// The runner is a separate process group, which stopping this process would not stop. It runs only during `use`, so it
  /// is already paused when this process is stopped between its turns.
  template <class Use> auto awake(Use use) const -> decltype(use(std::declval<Runner &>())) {
    struct Turn {
      Runner &runner;
      explicit Turn(Runner &runner) : runner(runner) { runner.resume(); }
      ~Turn() { runner.pause(); }
    } turn(runner());
    return use(turn.runner);
  }
};

} // namespace

int main() {
  OnnxRuntime provider;
  return serveProvider(provider);
}
