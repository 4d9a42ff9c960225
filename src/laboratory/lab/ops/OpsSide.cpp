#include "lab/ops/CallCost.h"
#include "lab/ops/OpsRows.h"
#include "lab/resources/Placement.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace lathe::lab {

OpsPoint &Side::point() const { return row.row.points[index]; }

/// Gives the point a status without a time.
void Side::fail(PointStatus status, const std::string &reason) {
  point().status = status;
  point().reason = reason;
  point().rounds.clear();
  point().counts.clear();
  point().besideRuns.clear();
}

/// Returns the value, or records the failure.
template <class T> std::optional<T> Side::take(process::Result<T> outcome) {
  if (outcome)
    return std::move(*outcome);
  fail(statusOf(outcome.failure()), outcome.failure().message());
  contender().ready.reset();
  if (contender().worker && !contender().worker->alive())
    contender().forget();
  return std::nullopt;
}

/// Does `work`, a request to the column, while the companion runs, if the side has one. Records failures of both.
template <class Work> auto Side::inCompany(Work work) -> std::optional<std::remove_reference_t<decltype(*work())>> {
  if (!companion)
    return take(work());
  if (std::string reason = companion->enter(); !reason.empty()) {
    fail(PointStatus::failed, reason);
    return std::nullopt;
  }
  auto result = take(work());
  if (std::string reason = companion->leave(); !reason.empty()) {
    fail(PointStatus::failed, reason);
    return std::nullopt;
  }
  return result;
}

/// False, with the reason in the point, if the column does not run alone, or its companion does not run. A column in
/// company runs the schedule that it runs alone.
bool Side::isWorthIt() {
  if (!companion)
    return true;
  const OpsPoint &alone = row.row.points[column()];
  point().task = alone.task;
  point().scheduleRun = alone.scheduleRun;
  if (alone.status != PointStatus::passed) {
    fail(alone.status, alone.reason);
    point().version = alone.version;
    return false;
  }
  std::string reason = companion->start(row.setting().cpus.beside);
  if (!reason.empty())
    fail(PointStatus::failed, reason);
  return reason.empty();
}

/// Sets the schedule of the request, which is the same in every start, and the task of the point. Returns false, and
/// gives the point a reason, if there is no schedule.
bool Side::chooseSchedule(ProviderRequest &request) {
  OpsPoint &point = this->point();
  bool recorded = point.schedule == recordedSchedule;
  if (point.scheduleRun.empty()) {
    auto task = take(contender().worker->task(row.problem(), request));
    if (!task)
      return false;
    auto decline = [&](const std::string &reason) {
      point.status = PointStatus::unimplemented;
      point.reason = reason;
      return false;
    };
    if (!*task)
      return decline(task->reason());
    point.task = **task;
    std::optional<std::string> chosen = point.schedule;
    if (recorded)
      chosen = state.options.recordedSchedules ? state.options.recordedSchedules(point.task) : std::nullopt;
    if (!chosen)
      return decline("no tuning record of the task " + point.task);
    point.scheduleRun = *chosen;
  }
  request.schedule = point.scheduleRun;
  if (recorded)
    request.task = point.task;
  return true;
}

/// Prepares the worker. A preparation for another row of the problem, with another state of the caches, is reused only
/// if the caches are hot: a provider decides during preparation whether it supports another state.
std::optional<ProviderPreparation> Side::prepare(const ProviderRequest &request) {
  auto &ready = contender().ready;
  store::CacheState cache = row.setting().cache;
  bool timeable = ready && (cache == store::CacheState::hot || cache == ready->cache);
  if (timeable && ready->problem == row.given->key && ready->request == request)
    return ready->preparation;
  ready.reset();
  auto prepared = take(contender().worker->prepare(row.problem(), request, row.given->operands, cache));
  if (prepared && prepared->declined.empty())
    ready = {row.given->key, cache, request, *prepared};
  return prepared;
}

/// Starts the worker if there is none. If it does not start, returns false and gives the point a reason.
bool Side::start() {
  const std::vector<int> &cpus = row.setting().cpus.measured;
  if (contender().worker && contender().cpus == cpus)
    return true;
  contender().quit();
  contender().cpus = cpus;
  std::optional<CpuAffinity> bound;
  if (!cpus.empty())
    bound.emplace(cpus);
  ProviderSpec spec = contender().column.provider;
  spec.command = state.directory.keepingFilesHere(spec.command);
  auto started = take(ProviderWorker::start(spec, state.options.limits, state.options.timeouts));
  if (started)
    contender().worker.emplace(std::move(*started));
  return started.has_value();
}

/// Sets the time of a call that computes one element. It is measured once for each provider, number of threads and
/// resources.
void Side::measureCall() {
  int threads = row.setting().threads;
  auto [known, isNew] = state.callSeconds.try_emplace({point().provider, threads, row.setting().resources.text()});
  if (isNew && !state.options.checkOnly) {
    known->second = secondsOfCall(*contender().worker, threads, state.options.seed, state.directory.path.string());
    contender().ready.reset();
    if (!contender().worker->alive())
      contender().forget();
  }
  point().callSeconds = known->second;
}

/// Runs all steps from a problem to a checked answer. `earlier`: the points of earlier columns.
void Side::answer(std::span<const OpsPoint> earlier) {
  OpsPoint &point = this->point();
  const OpsColumn &column = contender().column;
  const OpsSetting &setting = row.setting();
  bool able = column.caches.contains(setting.cache);
  if (!column.lacks.empty() || !able) {
    point.status = PointStatus::unimplemented;
    point.version = column.version;
    point.reason = column.lacks.empty() ? cannotEmptyCaches(point.provider) : column.lacks;
    return;
  }
  if (!isWorthIt() || !start())
    return;
  contender().worker->resume();
  if (companion && !contender().worker->takesCompany())
    return fail(PointStatus::unimplemented, "it does not count the runs of a companion");
  measureCall();
  if (!start()) // the smallest problem may have broken it
    return;
  point.version = contender().worker->version();
  point.uncounted = contender().worker->uncounted();
  ProviderRequest request{point.variant, setting.threads, setting.layout, ""};
  if (!point.schedule.empty() && !chooseSchedule(request))
    return;
  auto prepared = prepare(request);
  if (!prepared)
    return;
  point.implementation = prepared->implementation;
  if (!prepared->schedule.empty()) { // otherwise the requested one
    point.task = prepared->task;
    point.scheduleRun = prepared->schedule;
    point.predictedCycles = prepared->predictedCycles;
  }
  point.prepareSeconds = prepared->seconds;
  if (!prepared->declined.empty()) {
    point.status = PointStatus::unimplemented;
    point.reason = prepared->declined;
    return;
  }
  auto outputs = inCompany([&] { return contender().worker->run(row.given->folder.string()); });
  if (!outputs)
    return;
  judge(*outputs);
  if (point.status != PointStatus::passed)
    return;
  for (auto &other : earlier)
    if (other.provider == point.provider && other.implementation == point.implementation &&
        other.status == PointStatus::passed) {
      point.status = PointStatus::sameAs;
      point.reason = other.provider + ":" + other.variant + (other.schedule.empty() ? "" : ":" + other.schedule);
      return;
    }
}

/// Sets the point's status from its outputs: the worst status counts.
void Side::judge(const std::map<std::string, Tensor> &outputs) {
  OpsPoint &point = this->point();
  const std::vector<Tensor> &references = row.given->references;
  point.status = PointStatus::passed;
  for (size_t i = 0; i < references.size(); ++i) {
    Agreement agreement = agreementWith(*row.given, i, outputs);
    point.relativeL2 = std::max(point.relativeL2, agreement.relativeL2);
    point.maxDifference = std::max(point.maxDifference, agreement.maxDifference);
    if (!agreement.agrees && point.status != PointStatus::failed) {
      point.status = PointStatus::failed;
      point.reason = agreement.reason + row.given->aboutFailures;
    } else if (point.status == PointStatus::passed && !agreement.mistrust.empty() && references[i].elements() > 1) {
      point.status = PointStatus::mistrusted;
      point.reason = "the right output is " + agreement.mistrust;
    }
  }
}

void Side::estimateNow() {
  store::CacheState cache = row.setting().cache;
  auto timed = [&](int warmup, int repetitions) {
    return inCompany([&] { return contender().worker->time(warmup, repetitions, cache); });
  };
  auto once = timed(0, 1);
  if (!once)
    return;
  secondsPerRun = once->seconds.front();
  if (secondsPerRun < state.options.roundSeconds)
    if (auto more = timed(1, 3))
      secondsPerRun = *std::min_element(more->seconds.begin(), more->seconds.end());
}

void Side::takeTurnNow() {
  store::CacheState cache = row.setting().cache;
  // Approximate time for flushing: all memory of a process, or the lines of constants.
  double flushSeconds = cache == store::CacheState::cold            ? 5e-3
                        : cache == store::CacheState::coldConstants ? row.problem().constantBytes() / 64 * 2e-8
                                                                    : 0;
  double turnSeconds = state.options.roundSeconds;
  // A start has three rounds or more. A companion may run half as fast as alone.
  double runsOfCompanion = companion ? point().company.leastRuns / 3.0 : 0;
  if (companion)
    turnSeconds = std::max(turnSeconds, 2 * companion->secondsPerRun() * runsOfCompanion);
  double runs = turnSeconds / std::max(secondsPerRun + flushSeconds, 1e-7);
  // The other columns have emptied the caches, so one run warms them before timing.
  int warmup = runs < 1 || cache == store::CacheState::cold ? 0 : 1;
  int repetitions = int(std::clamp(runs, 1.0, 1000.0));
  auto timing = inCompany([&] {
    std::string path = companion ? companion->path() : "";
    auto timed = contender().worker->time(warmup, repetitions, cache, path);
    constexpr int mostRequests = 10; // of a short run beside a long one, or while the companion waits for its CPU
    for (int request = 1; timed && double(timed->besideRuns) < runsOfCompanion && request < mostRequests; ++request) {
      auto more = contender().worker->time(0, repetitions, cache, path);
      if (!more)
        return more;
      timed->seconds.insert(timed->seconds.end(), more->seconds.begin(), more->seconds.end());
      timed->counts += more->counts;
      timed->besideRuns += more->besideRuns;
    }
    return timed;
  });
  if (!timing)
    return;
  point().rounds.push_back(std::move(timing->seconds));
  point().counts.push_back(timing->counts);
  if (companion)
    point().besideRuns.push_back(timing->besideRuns);
}

template <class Work> void Side::inTurn(Work work) {
  if (!running())
    return;
  double began = steadySeconds();
  contender().worker->resume();
  work();
  if (contender().worker)
    contender().worker->pause();
  spend(steadySeconds() - began);
}

void Side::estimate() {
  inTurn([&] { estimateNow(); });
}

void Side::takeTurn() {
  inTurn([&] { takeTurnNow(); });
}

/// Decides whether the column gets further turns in this row (OpsLabOptions).
void Side::spend(double seconds) {
  spentSeconds += seconds;
  if (point().rounds.empty() || spentSeconds <= state.options.maxSeconds / double(row.sides.size()))
    return;
  over |= std::any_of(row.sides.begin(), row.sides.end(), [&](const Side &other) {
    return other.point().provider == point().provider && other.companion == companion && other.passed() &&
           other.secondsPerRun > 0 && other.secondsPerRun < secondsPerRun;
  });
}

/// Restarts the column's process: its memory placement is random, and affects its times. The sides of a column, alone
/// and in company, share its process.
void Side::startAgain() {
  double began = steadySeconds();
  if (std::exchange(contender().start, state.start) != state.start)
    contender().quit();
  answer({});
  if (contender().worker)
    contender().worker->pause();
  spend(steadySeconds() - began);
}

} // namespace lathe::lab
