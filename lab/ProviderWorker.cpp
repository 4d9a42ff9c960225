#include "lab/ProviderWorker.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace lathe::lab {

using nlohmann::json;
using process::Result;

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

Result<ProviderWorker> ProviderWorker::start(const ProviderSpec &spec, const process::Limits &limits,
                                             const ProviderTimeouts &timeouts) {
  auto worker = process::Worker::start(spec.command, limits);
  if (!worker)
    return worker.failure();
  ProviderWorker provider(std::move(*worker), spec, timeouts);
  auto greeted = provider.greet("provider protocol", providerProtocolVersion, timeouts.start);
  if (!greeted)
    return greeted.failure();
  try {
    greeted->at("operators").get_to(provider.operators);
  } catch (const json::exception &exception) {
    return provider.garbage(std::string("answer to 'hello': ") + exception.what());
  }
  return provider;
}

std::vector<std::string> ProviderWorker::variants(const std::string &op) const {
  auto found = operators.find(op);
  return found == operators.end() ? std::vector<std::string>{} : found->second;
}

Result<ProviderPreparation> ProviderWorker::prepare(const Problem &problem, const std::string &variant, int threads,
                                                    const std::map<std::string, std::string> &inputs) {
  json request = {
      {"do", "prepare"}, {"problem", toJson(problem)}, {"variant", variant}, {"threads", threads}, {"inputs", inputs}};
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

Result<std::map<std::string, std::string>> ProviderWorker::run(const std::string &directory) {
  using Files = std::map<std::string, std::string>;
  return ask<Files>({{"do", "run"}, {"directory", directory}}, timeouts.run,
                    [](const json &answer) { return answer.at("outputs").get<Files>(); });
}

} // namespace lathe::lab
