#include "lab/judging/TimingWorker.h"

#include <algorithm>
#include <sys/wait.h>

namespace lathe::lab {

using nlohmann::json;
using process::Failure;
using process::FailureKind;
using process::Result;

Failure TimingWorker::garbage(const std::string &detail) {
  worker.kill();
  Failure failure;
  failure.kind = FailureKind::garbage;
  failure.who = statedName;
  failure.detail = detail;
  return failure;
}

Result<json> TimingWorker::ask(const json &request, double timeoutSeconds) {
  auto answer = worker.request(request, timeoutSeconds);
  if (!answer || answer->value("ok", json()) == true)
    return answer;
  Failure failure;
  failure.kind = FailureKind::threw;
  failure.who = statedName;
  json text = answer->value("error", json());
  failure.detail =
      statedName + ": " + (text.is_string() ? text.get<std::string>() : "answered neither ok nor an error");
  return failure;
}

Result<json> TimingWorker::greet(std::string_view protocol, int protocolVersion, double timeoutSeconds) {
  auto answer = ask({{"do", "hello"}, {"protocol", protocolVersion}}, timeoutSeconds);
  if (!answer)
    return answer;
  auto wrong = [&](const char *field, const char *expected) {
    auto found = answer->find(field);
    return garbage(fmt::format("answer to 'hello': expected {} as \"{}\" of the {}, got {}", expected, field, protocol,
                               found == answer->end() ? "no such field" : found->dump().substr(0, 60)));
  };
  auto is = [&](const char *field, bool (json::*type)() const noexcept, bool optional) {
    auto found = answer->find(field);
    return found == answer->end() ? optional : ((*found).*type)();
  };
  if (!is("protocol", &json::is_number_integer, false))
    return wrong("protocol", std::to_string(protocolVersion).c_str());
  if (int spoken = answer->at("protocol"); spoken != protocolVersion)
    return garbage(fmt::format("speaks version {} of the {}, expected {}", spoken, protocol, protocolVersion));
  if (!is("version", &json::is_string, false))
    return wrong("version", "a text");
  if (!is("settings", &json::is_object, true))
    return wrong("settings", "an object");
  if (!is("uncounted", &json::is_string, true))
    return wrong("uncounted", "a text");
  answer->at("version").get_to(statedVersion);
  statedSettings = answer->value("settings", json::object());
  statedUncounted = answer->value("uncounted", "");
  return answer;
}

Result<Timing> TimingWorker::timeWith(const json &fields, int warmup, int repetitions) {
  json request = {{"do", "time"}, {"warmup", warmup}, {"repetitions", repetitions}};
  request.update(fields.is_null() ? json::object() : fields);
  auto timing = ask<Timing>(request, runTimeout, [](const json &answer) {
    Timing timing{answer.at("samples_ns").get<std::vector<double>>(), {}, answer.value("beside_runs", int64_t(0))};
    for (double &sample : timing.seconds)
      sample *= 1e-9;
    if (auto counts = answer.find("counts"); counts != answer.end())
      timing.counts = countsFromJson(*counts);
    return timing;
  });
  if (!timing)
    return timing;
  auto &samples = timing->seconds;
  if (samples.size() != size_t(repetitions))
    return garbage(fmt::format("{} samples, expected {}", samples.size(), repetitions));
  if (std::any_of(samples.begin(), samples.end(), [](double sample) { return !(sample > 0); }))
    return garbage("a sample is not positive");
  return timing;
}

bool TimingWorker::hasEnded() const {
  siginfo_t found{};
  return ::waitid(P_PID, id_t(worker.id()), &found, WEXITED | WNOHANG | WNOWAIT) != 0 || found.si_pid != 0;
}

void TimingWorker::quit() {
  if (!worker.alive())
    return;
  worker.resume();
  worker.send({{"do", "quit"}}, 5);
  (void)worker.close(5);
}

} // namespace lathe::lab
