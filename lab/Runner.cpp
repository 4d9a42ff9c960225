#include "lab/Runner.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace lathe::lab {

using nlohmann::json;
using process::Failure;
using process::FailureKind;
using process::Result;

static constexpr int protocolVersion = 1;

// Where runners are.

static std::filesystem::path programDirectory() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

static std::vector<std::filesystem::path> runnerDirectories() {
  std::vector<std::filesystem::path> directories;
  if (const char *given = std::getenv("LATHE_RUNNERS"); given && *given)
    directories.emplace_back(given);
  directories.push_back(programDirectory().parent_path() / "share" / "lathe" / "runners");
  directories.emplace_back(LATHE_SOURCE_DIR "/lab/runners");
  return directories;
}

static std::string findProgram(const std::string &name) {
  const char *path = std::getenv("PATH");
  std::string list = path ? path : "/usr/bin:/bin";
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(':', begin), list.size());
    std::string candidate = list.substr(begin, end - begin) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0)
      return candidate;
    begin = end + 1;
  }
  return "";
}

static Outcome<RunnerSpec> findOnnxRuntime() {
  for (auto &directory : runnerDirectories()) {
    auto script = directory / "onnxruntime" / "runner.mjs";
    if (!std::filesystem::exists(directory / "onnxruntime" / "node_modules" / "onnxruntime-node") ||
        !std::filesystem::exists(script))
      continue;
    std::string node = findProgram("node");
    if (node.empty())
      node = findProgram("nodejs");
    if (node.empty())
      return NotApplicable{"the runner onnxruntime needs Node.js, which is not installed: run \"make peers\""};
    RunnerSpec spec{"onnxruntime", {}, "onnx"};
    spec.command.argv = {node, script.string()};
    return spec;
  }
  return NotApplicable{"ONNX Runtime is not installed: run \"make peers\""};
}

static Outcome<RunnerSpec> findLathe(const std::string &name) {
  // Tests lie in other folders of the build than programs.
  for (auto &directory : {programDirectory(), programDirectory().parent_path() / "bin"}) {
    auto program = directory / "lathe-runner";
    if (access(program.c_str(), X_OK) != 0)
      continue;
    RunnerSpec spec{name, {}, "lathe"};
    spec.command.argv = {program.string(), "--name", name};
    return spec;
  }
  return NotApplicable{"the program lathe-runner is not beside " + programDirectory().string()};
}

Outcome<RunnerSpec> findRunner(const std::string &name) {
  if (name == "onnxruntime")
    return findOnnxRuntime();
  if (name == "lathe" || name == "reference")
    return findLathe(name);
  return NotApplicable{"unknown runner '" + name + "', expected onnxruntime, lathe or reference"};
}

// The conversation.

Result<json> Runner::ask(const json &request, double timeoutSeconds) {
  auto answer = worker.request(request, timeoutSeconds);
  if (!answer)
    return answer;
  if (answer->value("ok", json()) == true)
    return answer;
  Failure failure;
  failure.kind = FailureKind::threw;
  failure.who = runnerName;
  json text = answer->value("error", json());
  failure.detail =
      runnerName + ": " + (text.is_string() ? text.get<std::string>() : "answered neither ok nor an error");
  return failure;
}

template <class T, class Read> Result<T> Runner::askFor(const json &request, double timeoutSeconds, Read read) {
  auto answer = ask(request, timeoutSeconds);
  if (!answer)
    return answer.failure();
  try {
    return T(read(*answer));
  } catch (const json::exception &exception) {
    worker.kill();
    Failure failure;
    failure.kind = FailureKind::garbage;
    failure.who = runnerName;
    failure.detail = "answer to '" + request.at("do").get<std::string>() + "': " + exception.what();
    return failure;
  }
}

Result<Runner> Runner::start(const RunnerSpec &spec, const process::Limits &limits, const RunnerTimeouts &timeouts) {
  auto worker = process::Worker::start(spec.command, limits);
  if (!worker)
    return worker.failure();
  Runner runner(std::move(*worker), timeouts);
  runner.runnerName = spec.name;
  int spoken = 0;
  auto greeted =
      runner.askFor<bool>({{"do", "hello"}, {"protocol", protocolVersion}}, timeouts.start, [&](const json &answer) {
        answer.at("protocol").get_to(spoken);
        answer.at("version").get_to(runner.runnerVersion);
        runner.runnerSettings = answer.value("settings", json::object());
        return true;
      });
  if (!greeted)
    return greeted.failure();
  if (spoken != protocolVersion) {
    Failure failure;
    failure.kind = FailureKind::garbage;
    failure.who = spec.name;
    failure.detail = fmt::format("speaks version {} of the runner protocol, expected {}", spoken, protocolVersion);
    return failure;
  }
  return runner;
}

static std::vector<RunnerPort> portsFrom(const json &list) {
  std::vector<RunnerPort> ports;
  for (auto &entry : list) {
    RunnerPort port{entry.at("name").get<std::string>(), entry.at("type").get<std::string>(), {}};
    for (auto &dim : entry.at("dims"))
      port.dims.push_back(dim.is_number() ? std::to_string(dim.get<int64_t>()) : dim.get<std::string>());
    ports.push_back(std::move(port));
  }
  return ports;
}

Result<RunnerModel> Runner::load(const std::string &path, int threads) {
  json request = {{"do", "load"}, {"path", std::filesystem::absolute(path).string()}, {"threads", threads}};
  return askFor<RunnerModel>(request, timeouts.load, [](const json &answer) {
    return RunnerModel{answer.at("load_ns").get<double>() * 1e-9, portsFrom(answer.at("inputs")),
                       portsFrom(answer.at("outputs"))};
  });
}

Result<bool> Runner::setInputs(const std::map<std::string, std::string> &files) {
  return askFor<bool>({{"do", "inputs"}, {"files", files}}, timeouts.run, [](const json &) { return true; });
}

Result<std::map<std::string, std::string>> Runner::run(const std::string &directory) {
  return askFor<std::map<std::string, std::string>>(
      {{"do", "run"}, {"directory", directory}}, timeouts.run,
      [](const json &answer) { return answer.at("outputs").get<std::map<std::string, std::string>>(); });
}

Result<std::vector<double>> Runner::time(int warmup, int repetitions) {
  json request = {{"do", "time"}, {"warmup", warmup}, {"repetitions", repetitions}};
  auto samples = askFor<std::vector<double>>(request, timeouts.run, [&](const json &answer) {
    auto nanoseconds = answer.at("samples_ns").get<std::vector<double>>();
    for (double &sample : nanoseconds)
      sample *= 1e-9;
    return nanoseconds;
  });
  if (samples && samples->size() != size_t(repetitions)) {
    worker.kill();
    Failure failure;
    failure.kind = FailureKind::garbage;
    failure.who = runnerName;
    failure.detail = fmt::format("{} samples, expected {}", samples->size(), repetitions);
    return failure;
  }
  return samples;
}

Result<bool> Runner::setThreads(int threads) {
  return askFor<bool>({{"do", "threads"}, {"count", threads}}, timeouts.load, [](const json &) { return true; });
}

void Runner::quit() {
  if (!worker.alive())
    return;
  worker.resume();
  worker.send({{"do", "quit"}}, 5);
  (void)worker.close(5);
}

} // namespace lathe::lab
