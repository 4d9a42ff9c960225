#include "lab/Runner.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace lathe::lab {

using nlohmann::json;
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
    for (auto &dim : entry.at("dims"))
      port.dims.push_back(dim.is_number() ? std::to_string(dim.get<int64_t>()) : dim.get<std::string>());
    ports.push_back(std::move(port));
  }
  return ports;
}

Result<RunnerModel> Runner::load(const std::string &path, int threads) {
  json request = {{"do", "load"}, {"path", std::filesystem::absolute(path).string()}, {"threads", threads}};
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

} // namespace lathe::lab
