#include "lab/ProviderWorker.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace lathe::lab {

using nlohmann::json;
using process::Failure;
using process::FailureKind;
using process::Result;

static constexpr int protocolVersion = 1;

const std::vector<std::string> &knownProviders() {
  static const std::vector<std::string> names = {"lathe", "onednn"};
  return names;
}

Outcome<ProviderSpec> findProvider(const std::string &name) {
  namespace fs = std::filesystem;
  if (const char *given = std::getenv("LATHE_PROVIDERS"); given && *given)
    if (fs::path program = fs::path(given) / name / "provider"; access(program.c_str(), X_OK) == 0)
      return ProviderSpec{name, {.argv = {program.string()}, .environment = {}, .directory = {}, .prefix = {}}};
  std::error_code ignored;
  fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  // Tests lie in other folders of the build than programs.
  for (auto &directory : {here, here.parent_path() / "bin"})
    if (fs::path program = directory / ("lathe-provider-" + name); access(program.c_str(), X_OK) == 0)
      return ProviderSpec{name, {.argv = {program.string()}, .environment = {}, .directory = {}, .prefix = {}}};
  auto &known = knownProviders();
  if (std::find(known.begin(), known.end(), name) == known.end())
    return NotApplicable{fmt::format("unknown provider '{}', expected {}", name, fmt::join(known, ", "))};
  if (name == "onednn")
    return NotApplicable{"this build has no oneDNN: install libdnnl-dev (dev/setup.sh bench does) and configure again"};
  return NotApplicable{"the program lathe-provider-" + name + " is not beside " + here.string()};
}

Failure ProviderWorker::garbage(const std::string &detail) {
  worker.kill();
  Failure failure;
  failure.kind = FailureKind::garbage;
  failure.who = spec.name;
  failure.detail = detail;
  return failure;
}

template <class T, class Read> Result<T> ProviderWorker::ask(const json &request, double timeoutSeconds, Read read) {
  auto answer = worker.request(request, timeoutSeconds);
  if (!answer)
    return answer.failure();
  if (answer->value("ok", json()) != true) {
    Failure failure;
    failure.kind = FailureKind::threw;
    failure.who = spec.name;
    json text = answer->value("error", json());
    failure.detail =
        spec.name + ": " + (text.is_string() ? text.get<std::string>() : "answered neither ok nor an error");
    return failure;
  }
  try {
    return T(read(*answer));
  } catch (const json::exception &exception) {
    return garbage("answer to '" + request.at("do").get<std::string>() + "': " + exception.what());
  }
}

Result<ProviderWorker> ProviderWorker::start(const ProviderSpec &spec, const process::Limits &limits,
                                             const ProviderTimeouts &timeouts) {
  auto worker = process::Worker::start(spec.command, limits);
  if (!worker)
    return worker.failure();
  ProviderWorker provider(std::move(*worker), spec, timeouts);
  int spoken = 0;
  auto greeted =
      provider.ask<bool>({{"do", "hello"}, {"protocol", protocolVersion}}, timeouts.start, [&](const json &answer) {
        answer.at("protocol").get_to(spoken);
        answer.at("version").get_to(provider.statedVersion);
        answer.at("operators").get_to(provider.operators);
        provider.statedSettings = answer.value("settings", json::object());
        return true;
      });
  if (!greeted)
    return greeted.failure();
  if (spoken != protocolVersion)
    return provider.garbage(
        fmt::format("speaks version {} of the provider protocol, expected {}", spoken, protocolVersion));
  return provider;
}

std::vector<std::string> ProviderWorker::variants(const std::string &op) const {
  auto found = operators.find(op);
  return found == operators.end() ? std::vector<std::string>{} : found->second;
}

Result<ProviderPreparation> ProviderWorker::prepare(const ConvProblem &problem, const std::string &variant, int threads,
                                                    const std::map<std::string, std::string> &inputs) {
  json request = {{"do", "prepare"},    {"operator", "conv2d"}, {"problem", toJson(problem)},
                  {"variant", variant}, {"threads", threads},   {"inputs", inputs}};
  return ask<ProviderPreparation>(request, timeouts.prepare, [](const json &answer) {
    ProviderPreparation result;
    if (answer.contains("declined")) {
      result.declined = answer.at("declined").get<std::string>();
      if (result.declined.empty())
        result.declined = "declined without a reason";
      return result;
    }
    result.implementation = answer.at("implementation").get<std::string>();
    result.seconds = answer.at("prepare_ns").get<double>() * 1e-9;
    return result;
  });
}

Result<std::string> ProviderWorker::run(const std::string &directory) {
  return ask<std::string>({{"do", "run"}, {"directory", directory}}, timeouts.run,
                          [](const json &answer) { return answer.at("outputs").at("y").get<std::string>(); });
}

Result<std::vector<double>> ProviderWorker::time(int warmup, int repetitions) {
  auto samples = ask<std::vector<double>>({{"do", "time"}, {"warmup", warmup}, {"repetitions", repetitions}},
                                          timeouts.run, [](const json &answer) {
                                            auto times = answer.at("samples_ns").get<std::vector<double>>();
                                            for (double &sample : times)
                                              sample *= 1e-9;
                                            return times;
                                          });
  if (samples && samples->size() != size_t(repetitions))
    return garbage(fmt::format("{} samples, expected {}", samples->size(), repetitions));
  if (samples && std::any_of(samples->begin(), samples->end(), [](double sample) { return !(sample > 0); }))
    return garbage("a sample is not positive");
  return samples;
}

void ProviderWorker::quit() {
  if (!worker.alive())
    return;
  worker.resume();
  worker.send({{"do", "quit"}}, 5);
  (void)worker.close(5);
}

} // namespace lathe::lab
