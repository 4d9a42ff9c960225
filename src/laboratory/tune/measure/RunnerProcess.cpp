#include "tune/measure/RunnerProcess.h"

#include "lab/ops/ProviderWorker.h"
#include "lab/resources/Placement.h"
#include "support/Base64.h"
#include "support/File.h"
#include "tune/measure/Protocol.h"
#include "tune/measure/Status.h"

namespace lathe::tune {

using nlohmann::json;
using process::Worker;

static constexpr double soon = 60; // seconds for requests that need hardly any time

RunnerProcess::RunnerProcess(const MeasureOptions &options, const std::string &program) : options(options) {
  lab::ProviderSpec spec{"runner", {.argv = {program}, .environment = {}, .directory = {}, .prefix = {}}, false};
  if (!options.via.empty())
    spec = lab::viaCommand(std::move(spec), options.via, options.viaDirectory);
  command = spec.command;
  remote = spec.remote;
}

RunnerProcess::~RunnerProcess() = default; // ends the process

void RunnerProcess::start() {
  if (worker && worker->alive())
    return;
  sent.clear();
  sentBytes = 0;
  sentTask.clear();
  std::optional<lab::CpuAffinity> bound;
  if (!options.cpus.empty())
    bound.emplace(options.cpus);
  auto started = Worker::start(command);
  require(started.ok(), "{}", started ? "" : started.failure().message());
  worker.emplace(std::move(*started));
  json hello = asked(*worker, {{"do", "hello"}, {"files", !remote}}, soon);
  require(hello.at("protocol") == measureProtocolVersion, "{} speaks version {} of its protocol, expected {}",
          command.str(), hello.at("protocol").dump(), measureProtocolVersion);
}

/// Sends a file in pieces, unless the other side has it.
void RunnerProcess::send(const std::string &file) {
  if (!remote || !sent.insert(file).second)
    return;
  constexpr size_t piece = size_t(1) << 20;
  constexpr double patience = 600; // seconds for a piece over a slow line
  std::vector<char> bytes = readFile(file);
  for (size_t at = 0; at == 0 || at < bytes.size(); at += piece)
    asked(*worker,
          {{"do", "put"},
           {"name", file},
           {"base64", toBase64(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)))}},
          patience);
  sentBytes += int64_t(bytes.size());
}

void RunnerProcess::setTask(const json &message, const std::string &key) {
  task = message;
  task["do"] = "task";
  task["run_seconds"] = options.runSeconds;
  task["run_bytes"] = options.runBytes;
  taskKey = key;
  prepare(nullptr);
}

/// Starts the runner if it ended, and gives it the task and all files that the candidate needs.
void RunnerProcess::prepare(const json *candidate) {
  start();
  constexpr int64_t mostBytes = int64_t(512) << 20; // of files on the other machine, in memory
  if (sentBytes > mostBytes) {
    asked(*worker, {{"do", "forget"}}, soon);
    sent.clear();
    sentBytes = 0;
    sentTask.clear();
  }
  if (sentTask != taskKey) {
    for (const json &result : task.at("results"))
      send(result.at("expected"));
    asked(*worker, task, soon + options.runSeconds);
    sentTask = taskKey;
  }
  for (size_t i = 0; candidate && i < task.at("operands").size(); ++i) {
    const json &packed = candidate->at("packed").at(i);
    send(packed.is_null() ? task["operands"][i].at("file") : packed.at("file"));
  }
}

RunOutcome RunnerProcess::ask(const json &request, const json *candidate, double timeoutSeconds) {
  prepare(candidate);
  RunOutcome outcome;
  auto answer = worker->request(request, timeoutSeconds);
  if (!answer) {
    outcome.status = statusOf(answer.failure());
    outcome.reason = answer.failure().message();
    return outcome;
  }
  if (answer->value("ok", false) != true) {
    outcome.reason = answer->value("error", "the runner says neither ok nor an error");
    return outcome;
  }
  outcome.status = store::pointStatus(answer->at("status").get<std::string>());
  outcome.reason = answer->value("reason", "");
  for (double sample : answer->value("samples_ns", std::vector<double>()))
    outcome.seconds.push_back(sample * 1e-9);
  return outcome;
}

RunOutcome RunnerProcess::askForTimes(json request, const json *candidate, double timeoutSeconds) {
  if (!options.beside)
    return ask(request, candidate, timeoutSeconds);
  prepare(candidate); // takes time, in which the companion need not run
  lab::PackageCompanion &beside = *options.beside;
  request["beside"] = {{"runs", beside.path()}, {"least", beside.leastRuns()}, {"seconds", options.companySeconds}};
  return beside.during([&] { return ask(request, candidate, timeoutSeconds + options.companySeconds); });
}

RunOutcome RunnerProcess::measure(const json &candidate, double slow) {
  // Time for the checked run, the first two runs, and a run that begins just before the end.
  double timeout = soon + options.sampleSeconds + 4 * options.runSeconds;
  return askForTimes({{"do", "measure"},
                      {"candidate", candidate},
                      {"slow", slow},
                      {"seconds", options.sampleSeconds},
                      {"min_samples", options.minSamples},
                      {"max_samples", options.maxSamples},
                      {"precision", options.precisionWanted}},
                     &candidate, timeout);
}

RunOutcome RunnerProcess::open(int side, const json &candidate) {
  return ask({{"do", "open"}, {"side", side}, {"candidate", candidate}}, &candidate, soon + options.runSeconds);
}

RunOutcome RunnerProcess::turn(int side, double seconds, int most) {
  json request = {{"do", "turn"}, {"side", side}, {"seconds", seconds}, {"most", most}};
  double timeout = soon + seconds + options.runSeconds;
  return seconds > 0 ? askForTimes(request, nullptr, timeout) : ask(request, nullptr, timeout); // 0: nobody reads it
}

void RunnerProcess::closeAll() {
  if (worker && worker->alive())
    asked(*worker, {{"do", "close"}}, soon);
}

} // namespace lathe::tune
