#include "lab/corun/CorunProcess.h"

#include "lab/compare/Runner.h"

#include <set>

namespace lathe::lab {

using nlohmann::json;
using process::Result;

/// Seconds that a process gets to start, and to load its packages.
static constexpr double startTimeout = 120, loadTimeout = 600;

NumberList CorunMember::cpus() const {
  std::set<int> used;
  for (const NumberList &instance : instances)
    used.insert(instance.begin(), instance.end());
  return {used.begin(), used.end()};
}

CorunProcess::CorunProcess(process::Worker worker) : TimingWorker(std::move(worker), "lathe", loadTimeout) {}

Result<CorunProcess> CorunProcess::start() {
  process::Command command = runnerNamed("lathe", "corun").command;
  command.argv = {command.argv.front(), "--corun"};
  auto worker = process::Worker::start(command);
  if (!worker)
    return worker.failure();
  CorunProcess made(std::move(*worker));
  if (auto greeted = made.greet("protocol of corun", 1, startTimeout); !greeted)
    return greeted.failure();
  return made;
}

Result<bool> CorunProcess::load(const std::vector<CorunMember> &members, bool sharesCpus) {
  json list = json::array();
  for (const CorunMember &member : members)
    list.push_back({{"package", member.package},
                    {"inputs", member.inputs},
                    {"instances", member.instances},
                    {"streams", member.streams},
                    {"apart", member.apart},
                    {"outputs", member.outputs}});
  return ask<bool>({{"do", "load"}, {"members", list}, {"shares_cpus", sharesCpus}}, loadTimeout,
                   [](const json &) { return true; });
}

std::optional<process::Failure> CorunProcess::begin(const std::vector<size_t> &members, const std::string &window,
                                                    size_t instances, double seconds) {
  return worker.send(
      {{"do", "run"}, {"members", members}, {"window", window}, {"instances", instances}, {"seconds", seconds}},
      startTimeout);
}

std::optional<process::Failure> CorunProcess::accompany(const std::string &runs) {
  return worker.send({{"do", "accompany"}, {"runs", runs}}, startTimeout);
}

Result<bool> CorunProcess::endOfCompany(double timeoutSeconds) {
  auto answer = received(timeoutSeconds);
  if (!answer)
    return answer.failure();
  return answer->value("right", json()) == true;
}

/// The answer to a request that was sent without waiting.
Result<json> CorunProcess::received(double timeoutSeconds) {
  auto answer = worker.receive(timeoutSeconds);
  if (answer && answer->value("ok", json()) != true)
    return garbage(answer->value("error", "neither ok nor an error"));
  return answer;
}

Result<std::vector<WindowRuns>> CorunProcess::end(double timeoutSeconds) {
  auto answer = received(timeoutSeconds);
  if (!answer)
    return answer.failure();
  try {
    std::vector<WindowRuns> result;
    for (const json &member : answer->at("members")) {
      WindowRuns &one = result.emplace_back();
      member.at("runs").get_to(one.runs);
      member.at("share").get_to(one.share);
      one.slowest = member.at("slowest_ns").get<double>() * 1e-9;
      for (const json &sample : member.at("samples_ns"))
        one.seconds.push_back(sample.get<double>() * 1e-9);
      member.at("wrong").get_to(one.wrong);
    }
    return result;
  } catch (const json::exception &exception) {
    return garbage("answer to 'run': " + messageOf(exception));
  }
}

} // namespace lathe::lab
