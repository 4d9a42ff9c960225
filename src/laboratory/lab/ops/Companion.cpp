// The process that runs beside measured columns.
#include "lab/ops/OpsRows.h"
#include "lab/resources/Placement.h"

#include <algorithm>
#include <optional>

namespace lathe::lab {

Companion::Companion(OpsLab::State &state, const OpsBeside &what, std::shared_ptr<const Case> given)
    : state(state), what(what), given(std::move(given)) {
  contender.column = what.column;
}

std::string Companion::failed(const std::string &why) {
  contender.quit();
  return reason = fmt::format("the companion {} ({}): {}", what.problem.str(), what.company.provider, why);
}

std::string Companion::checked(const process::Result<std::map<std::string, Tensor>> &outputs) {
  if (!outputs)
    return failed(outputs.failure().message());
  for (size_t i = 0; i < given->names.size(); ++i)
    if (Agreement agreement = agreementWith(*given, i, *outputs); !agreement.agrees)
      return failed(agreement.reason);
  return "";
}

std::string Companion::start(const std::vector<int> &cpus) {
  bool isKnown = contender.worker || !reason.empty();
  if (!isKnown || contender.start != state.start || contender.cpus != cpus) {
    contender.quit();
    reason = startNow(cpus);
    contender.start = state.start;
    contender.cpus = cpus;
  }
  return reason;
}

std::string Companion::startNow(const std::vector<int> &cpus) {
  std::optional<CpuAffinity> bound;
  if (!cpus.empty())
    bound.emplace(cpus);
  ProviderSpec spec = what.column.provider;
  spec.command = state.directory.keepingFilesHere(spec.command);
  auto started = ProviderWorker::start(spec, state.options.limits, state.options.timeouts);
  if (!started)
    return failed(started.failure().message());
  ProviderWorker &worker = contender.worker.emplace(std::move(*started));
  if (!worker.takesCompany())
    return failed("it cannot run without end");
  ProviderRequest request{what.column.variant, what.company.threads, ActivationLayout::any, what.column.schedule};
  auto prepared = worker.prepare(what.problem, request, given->operands);
  if (!prepared)
    return failed(prepared.failure().message());
  if (!prepared->declined.empty())
    return failed(prepared->declined);
  if (std::string wrong = checked(worker.run(given->folder.string())); !wrong.empty())
    return wrong;
  auto timing = worker.time(1, 3, store::CacheState::hot);
  if (!timing)
    return failed(timing.failure().message());
  seconds = *std::min_element(timing->seconds.begin(), timing->seconds.end());
  worker.pause();
  return "";
}

std::string Companion::enter() {
  if (!reason.empty())
    return reason;
  ProviderWorker &worker = *contender.worker;
  runs.reset();
  worker.resume();
  if (auto failure = worker.accompany(runs.path(), given->folder.string()))
    return failed(failure->message());
  if (runs.awaitFirst([&] { return worker.hasEnded(); }, state.options.timeouts.run))
    return "";
  return failed(worker.hasEnded() ? worker.endOfCompany().failure().message()
                                  : fmt::format("no run ended in {} s", state.options.timeouts.run));
}

std::string Companion::leave() {
  runs.stop();
  std::string wrong = checked(contender.worker->endOfCompany());
  if (wrong.empty())
    contender.worker->pause();
  return wrong;
}

} // namespace lathe::lab
