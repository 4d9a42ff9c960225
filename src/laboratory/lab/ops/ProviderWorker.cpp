#include "lab/ops/ProviderWorker.h"

#include "lab/compare/Runner.h"
#include "process/ShellWords.h"
#include "runtime/NpyTensor.h"
#include "support/Base64.h"
#include "support/JsonError.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace lathe::lab {

using nlohmann::json;
using process::Result;

/// A known provider. `library`: a library that a build may lack.
struct KnownProvider {
  const char *name;
  const char *library = ""; // "": every build has the provider
  const char *package = ""; // Debian package, as in dev/packages.txt
};
static const KnownProvider known[] = {
    {"lathe"},
    {"onednn", "oneDNN", "libdnnl-dev"},
    {"openblas", "OpenBLAS", "libopenblas-dev"},
    {"eigen", "Eigen", "libeigen3-dev"},
    {"xnnpack", "XNNPACK", "libxnnpack-dev libpthreadpool-dev"},
    {"onnxruntime"},
    {"reference"},
};

const std::vector<std::string> &knownProviders() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const KnownProvider &provider : known)
      list.push_back(provider.name);
    return list;
  }();
  return names;
}

Outcome<ProviderSpec> findProvider(const std::string &name) {
  namespace fs = std::filesystem;
  if (const char *given = std::getenv("LATHE_PROVIDERS"); given && *given)
    if (fs::path program = fs::path(given) / name / "provider"; access(program.c_str(), X_OK) == 0)
      return ProviderSpec{name, {.argv = {program.string()}, .environment = {}, .directory = {}, .prefix = {}}};
  std::error_code ignored;
  fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  if (name == "onnxruntime") // its program always exists and starts the runner
    if (auto runner = findRunner(name); !runner)
      return NotApplicable{runner.reason()};
  // Tests are in other folders of the build than programs.
  for (auto &directory : {here, here.parent_path() / "bin"})
    if (fs::path program = directory / ("lathe-provider-" + name); access(program.c_str(), X_OK) == 0)
      return ProviderSpec{name, {.argv = {program.string()}, .environment = {}, .directory = {}, .prefix = {}}};
  auto found = std::find_if(std::begin(known), std::end(known), [&](auto &provider) { return name == provider.name; });
  if (found == std::end(known))
    return NotApplicable{fmt::format("unknown provider '{}', expected {}", name, fmt::join(knownProviders(), ", "))};
  if (*found->library)
    return NotApplicable{fmt::format("this build has no {}: install {} (dev/setup.sh bench does) and configure again",
                                     found->library, found->package)};
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
    provider.takesSeeds = greeted->value("seeds", false);
    provider.flushes = greeted->value("cold", false);
    provider.schedules = greeted->value("schedules", false);
    provider.layouts = greeted->value("layouts", std::vector<std::string>());
    provider.statedPlatform = greeted->value("platform", json());
    provider.flushesConstants = greeted->value("cold_constants", false);
    provider.company = greeted->value("company", false);
  } catch (const json::exception &exception) {
    return provider.garbage(std::string("answer to 'hello': ") + messageOf(exception));
  }
  return provider;
}

std::vector<std::string> ProviderWorker::variants(const std::string &op) const {
  auto found = operators.find(op);
  return found == operators.end() ? std::vector<std::string>{} : found->second;
}

/// The field of a request that names the memory to make cold.
static json coldField(store::CacheState caches) {
  switch (caches) {
  case store::CacheState::hot:
    return json::object();
  case store::CacheState::cold:
    return {{"cold", true}};
  case store::CacheState::coldConstants:
    return {{"cold", "constants"}};
  }
  return {};
}

std::string cannotEmptyCaches(const std::string &provider) {
  return provider + " cannot empty the caches before a run";
}

std::set<store::CacheState> ProviderWorker::caches() const {
  std::set<store::CacheState> states = {store::CacheState::hot};
  if (flushes)
    states.insert(store::CacheState::cold);
  if (flushesConstants)
    states.insert(store::CacheState::coldConstants);
  return states;
}

std::string ProviderWorker::declines(const ProviderRequest &request) const {
  std::string layout(lathe::lab::name(request.layout));
  if (request.layout != ActivationLayout::any && std::find(layouts.begin(), layouts.end(), layout) == layouts.end())
    return layouts.empty() ? "it cannot be asked for a layout"
                           : fmt::format("it has no layout {}, only {}", layout, fmt::join(layouts, ", "));
  return request.schedule.empty() || schedules ? "" : "it takes no schedules";
}

/// `what` as a message of the protocol; layout, schedule and task only if they are requested.
static json messageOf(const char *what, const Problem &problem, const ProviderRequest &request) {
  json message = {
      {"do", what}, {"problem", toJson(problem)}, {"variant", request.variant}, {"threads", request.threads}};
  if (request.layout != ActivationLayout::any)
    message["layout"] = name(request.layout);
  if (!request.schedule.empty())
    message["schedule"] = request.schedule;
  if (!request.task.empty())
    message["task"] = request.task;
  return message;
}

/// The reason of an answer that declines; "" for other answers.
static std::string declinedReason(const json &answer) {
  if (!answer.contains("declined"))
    return "";
  auto reason = answer.at("declined").get<std::string>();
  return reason.empty() ? "declined without a reason" : reason;
}

Result<ProviderPreparation> ProviderWorker::prepare(const Problem &problem, const ProviderRequest &request,
                                                    const ProviderOperands &operands, store::CacheState state) {
  ProviderPreparation declined;
  declined.declined = remote && !takesSeeds
                          ? "it reads its operands from files, which a machine beyond --via does not have"
                      : !caches().contains(state) ? cannotEmptyCaches(name())
                                                  : declines(request);
  if (!declined.declined.empty())
    return declined;
  json message = messageOf("prepare", problem, request);
  message.update(coldField(state));
  if (remote)
    message["seed"] = operands.seed;
  else
    message["inputs"] = operands.files;
  return ask<ProviderPreparation>(message, timeouts.prepare, [](const json &answer) {
    ProviderPreparation result;
    result.declined = declinedReason(answer);
    if (!result.declined.empty())
      return result;
    result.implementation = answer.at("implementation").get<std::string>();
    result.seconds = answer.at("prepare_ns").get<double>() * 1e-9;
    result.task = answer.value("task", "");
    result.schedule = answer.value("schedule", "");
    result.predictedCycles = answer.value("predicted_cycles", 0.0);
    return result;
  });
}

Result<Outcome<std::string>> ProviderWorker::task(const Problem &problem, const ProviderRequest &request) {
  using Task = Outcome<std::string>;
  if (!schedules)
    return Task(NotApplicable{"it takes no schedules"});
  if (auto reason = declines(request); !reason.empty())
    return Task(NotApplicable{reason});
  return ask<Task>(messageOf("task", problem, request), timeouts.prepare, [](const json &answer) -> Task {
    if (auto reason = declinedReason(answer); !reason.empty())
      return NotApplicable{reason};
    return answer.at("task").get<std::string>();
  });
}

/// A tensor from an answer's {"type", "dims", "base64"}.
static Tensor tensorFrom(const json &entry) {
  auto type = elementTypeFromName(entry.at("type").get<std::string>());
  require(type.has_value(), "unknown element type {}", entry.at("type").dump());
  auto bytes = fromBase64(entry.at("base64").get_ref<const std::string &>());
  Tensor tensor(*type, entry.at("dims").get<std::vector<int64_t>>());
  require(tensor.bytes() == int64_t(bytes.size()), "{} bytes, expected {}", bytes.size(), tensor.bytes());
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

Result<std::map<std::string, Tensor>> ProviderWorker::run(const std::string &directory) {
  json request = {{"do", "run"}, {"directory", directory}};
  if (remote)
    request["inline"] = true;
  auto answer = ask<json>(request, timeouts.run, [](const json &answer) { return answer.at("outputs"); });
  if (!answer)
    return answer.failure();
  return tensorsOf(*answer, "run");
}

Result<std::map<std::string, Tensor>> ProviderWorker::tensorsOf(const json &outputs, const char *request) {
  std::map<std::string, Tensor> tensors;
  try {
    for (auto &[name, entry] : outputs.items())
      if (entry.is_string()) {
        tensors[name] = toTensor(readNpy(entry.get<std::string>()));
        std::error_code ignored;
        std::filesystem::remove(entry.get<std::string>(), ignored); // each answer has new files
      } else {
        tensors[name] = tensorFrom(entry);
      }
  } catch (const std::exception &exception) {
    return garbage(fmt::format("answer to '{}': {}", request, exception.what()));
  }
  return tensors;
}

std::optional<process::Failure> ProviderWorker::accompany(const std::string &runs, const std::string &directory) {
  return worker.send({{"do", "accompany"}, {"runs", runs}, {"directory", directory}}, timeouts.run);
}

Result<std::map<std::string, Tensor>> ProviderWorker::endOfCompany() {
  auto answer = worker.receive(timeouts.run);
  if (!answer)
    return answer.failure();
  if (answer->value("ok", json()) != true || !answer->contains("outputs"))
    return garbage("answer to 'accompany': expected outputs, got " + answer->dump().substr(0, 200));
  return tensorsOf(answer->at("outputs"), "accompany");
}

Result<Timing> ProviderWorker::time(int warmup, int repetitions, store::CacheState state, const std::string &beside) {
  if (!caches().contains(state)) {
    process::Failure failure;
    failure.kind = process::FailureKind::threw;
    failure.who = name();
    failure.detail = cannotEmptyCaches(name());
    return failure;
  }
  json fields = coldField(state);
  if (!beside.empty())
    fields["beside"] = beside;
  return timeWith(fields, warmup, repetitions);
}

ProviderSpec viaCommand(ProviderSpec spec, const std::string &via, const std::string &directory) {
  process::ShellWords split = process::splitShellWords(via);
  require(split.problem.empty(), "--via {}: {}", via, split.problem);
  require(!split.words.empty(), "--via: expected a command, got nothing");
  spec.command.prefix.insert(spec.command.prefix.end(), split.words.begin(), split.words.end());
  auto program = std::filesystem::path(spec.command.prefix.front()).filename().string();
  spec.command.prefixIsShell = program == "ssh" || program == "rsh" || spec.command.prefix.back() == "-c";
  if (!directory.empty())
    spec.command.argv[0] = directory + "/" + std::filesystem::path(spec.command.argv[0]).filename().string();
  spec.remote = true;
  return spec;
}

} // namespace lathe::lab
