#include "lab/compare/Runner.h"

#include "lab/compare/OnnxRuntimePlace.h"
#include "process/ShellWords.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace lathe::lab {

using nlohmann::json;
using process::Result;

static constexpr int protocolVersion = 1;

// Finding runners.

/// The path of a runner's program; "" if there is none.
static std::string runnerProgram(const std::string &name) {
  // Tests are in other folders of the build than programs.
  for (auto &directory : {programDirectory(), programDirectory().parent_path() / "bin"})
    if (auto program = directory / name; access(program.c_str(), X_OK) == 0)
      return program.string();
  return "";
}

static NotApplicable notBesideUs(const std::string &program) {
  return NotApplicable{"the program " + program + " is not beside " + programDirectory().string()};
}

/// The name of ONNX Runtime with its executor that runs independent nodes at the same time.
constexpr const char *parallelOnnxRuntime = "onnxruntime-parallel";

static Outcome<RunnerSpec> findOnnxRuntime(const std::string &name) {
  if (!onnxRuntimeLibrary())
    return NotApplicable{notInstalled("ONNX Runtime")};
  std::string program = runnerProgram("lathe-runner-onnxruntime");
  if (program.empty())
    return notBesideUs("lathe-runner-onnxruntime");
  RunnerSpec spec{name, {}, {"onnx"}};
  spec.command.argv = {program};
  if (name == parallelOnnxRuntime)
    spec.command.argv.emplace_back("--parallel");
  return spec;
}

/// Another program that runs TFLite files, as shell words; for example a native build of TensorFlow Lite.
constexpr const char *tfliteVariable = "LATHE_TFLITE_RUNNER";

static Outcome<RunnerSpec> findTflite() {
  RunnerSpec spec{"tflite", {}, {"tflite"}};
  if (const char *library = std::getenv(tfliteLibraryVariable); library && *library) {
    std::string program = runnerProgram("lathe-runner-tflite");
    if (program.empty())
      return notBesideUs("lathe-runner-tflite");
    spec.command.argv = {program, library};
    return spec;
  }
  if (const char *given = std::getenv(tfliteVariable); given && *given) {
    auto command = process::splitShellWords(given);
    if (!command.problem.empty() || command.words.empty())
      return NotApplicable{fmt::format("{}={}: {}", tfliteVariable, given, command.problem)};
    spec.command.argv = command.words;
    return spec;
  }
  auto script = runnerScript("tflite/Runner.mjs", "tflite/node_modules/@tensorflow/tfjs-tflite");
  if (!script)
    return NotApplicable{notInstalled("TensorFlow Lite")};
  spec.command.argv = {"node", script->string()};
  return spec;
}

static Outcome<RunnerSpec> findTensorFlowJs() {
  RunnerSpec spec{"tensorflowjs", {}, {"tensorflow", "savedmodel", "keras"}};
  auto script = runnerScript("tensorflowjs/Runner.mjs", "tensorflowjs/node_modules/@tensorflow/tfjs-core");
  if (!script)
    return NotApplicable{notInstalled("TensorFlow.js")};
  spec.command.argv = {"node", script->string()};
  return spec;
}

/// The Python interpreter that has TensorFlow.
constexpr const char *pythonVariable = "LATHE_TENSORFLOW_PYTHON";

static Outcome<RunnerSpec> findTensorFlow() {
  RunnerSpec spec{"tensorflow", {}, {"tensorflow", "savedmodel", "keras"}};
  auto script = runnerScript("tensorflow/Runner.py");
  if (!script)
    return NotApplicable{"tensorflow/Runner.py is in none of the folders of runners"};
  const char *given = std::getenv(pythonVariable);
  spec.command.argv = {given && *given ? given : "python3", script->string()};
  return spec;
}

static Outcome<RunnerSpec> findOpenCv() {
  std::string program = runnerProgram("lathe-runner-opencv");
  if (program.empty())
    return NotApplicable{"it is built where OpenCV's dnn module is installed: run \"dev/setup.sh bench\", then build"};
  RunnerSpec spec{"opencv", {}, {"tensorflow", "onnx"}};
  spec.command.argv = {program};
  return spec;
}

static Outcome<RunnerSpec> findLathe(const std::string &name) {
  std::string program = runnerProgram("lathe-runner");
  if (program.empty())
    return notBesideUs("lathe-runner");
  RunnerSpec spec{name, {}, {"lathe"}};
  spec.command.argv = {program, "--name", name};
  return spec;
}

bool RunnerSpec::reads(std::string_view format) const {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

Outcome<RunnerSpec> findRunner(const std::string &name) {
  if (name == "onnxruntime" || name == parallelOnnxRuntime)
    return findOnnxRuntime(name);
  if (name == "tflite")
    return findTflite();
  if (name == "tensorflowjs")
    return findTensorFlowJs();
  if (name == "tensorflow")
    return findTensorFlow();
  if (name == "opencv")
    return findOpenCv();
  if (name == "lathe" || name == "reference")
    return findLathe(name);
  return NotApplicable{
      "unknown runner '" + name +
      "', expected onnxruntime, onnxruntime-parallel, tflite, tensorflowjs, tensorflow, opencv, lathe or "
      "reference"};
}

// The protocol.

Result<Runner> Runner::start(const RunnerSpec &spec, const process::Limits &limits, const RunnerTimeouts &timeouts) {
  auto worker = process::Worker::start(spec.command, limits);
  if (!worker)
    return worker.failure();
  Runner runner(std::move(*worker), spec, timeouts);
  if (auto greeted = runner.greet("runner protocol", protocolVersion, timeouts.start); !greeted)
    return greeted.failure();
  return runner;
}

static std::vector<RunnerPort> portsFrom(const json &list) {
  std::vector<RunnerPort> ports;
  for (auto &entry : list) {
    RunnerPort port{entry.at("name").get<std::string>(), entry.at("type").get<std::string>(), {}};
    port.ranked = !entry.at("dims").is_null();
    for (auto &dim : entry.at("dims"))
      port.dims.push_back(dim.is_number() ? std::to_string(dim.get<int64_t>()) : dim.get<std::string>());
    ports.push_back(std::move(port));
  }
  return ports;
}

Result<RunnerModel> Runner::load(const std::string &path, int threads, const ModelPart &part) {
  json request = {{"do", "load"}, {"path", std::filesystem::absolute(path).string()}, {"threads", threads}};
  if (!part.from.empty())
    request["from"] = part.from;
  if (!part.to.empty())
    request["to"] = part.to;
  return ask<RunnerModel>(request, timeouts.load, [](const json &answer) {
    return RunnerModel{answer.at("load_ns").get<double>() * 1e-9, portsFrom(answer.at("inputs")),
                       portsFrom(answer.at("outputs"))};
  });
}

Result<bool> Runner::setInputs(const std::map<std::string, std::string> &files) {
  return ask<bool>({{"do", "inputs"}, {"files", files}}, timeouts.run, [](const json &) { return true; });
}

Result<std::map<std::string, std::string>> Runner::run(const std::string &directory) {
  return ask<std::map<std::string, std::string>>(
      {{"do", "run"}, {"directory", directory}}, timeouts.run,
      [](const json &answer) { return answer.at("outputs").get<std::map<std::string, std::string>>(); });
}

Result<bool> Runner::setThreads(int threads) {
  return ask<bool>({{"do", "threads"}, {"count", threads}}, timeouts.load, [](const json &) { return true; });
}

RunnerSpec runnerNamed(const std::string &name, const std::string &where) {
  Outcome<RunnerSpec> spec = findRunner(name);
  require(spec.done(), "{}: {}", where, spec.done() ? "" : spec.reason());
  return *spec;
}

std::string copiedPackage(const std::string &package, const std::filesystem::path &folder) {
  std::filesystem::path copy = folder / std::filesystem::path(package).filename();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::filesystem::copy_file(package, copy, std::filesystem::copy_options::overwrite_existing, error);
  require(!error, "{}: cannot copy to {}: {}", package, folder.string(), error.message());
  return copy.string();
}

} // namespace lathe::lab
