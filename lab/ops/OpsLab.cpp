#include "lab/ops/OpsLab.h"

#include "lab/TemporaryDirectory.h"
#include "lab/machine/DeclaredPeak.h"
#include "lab/machine/Disturbance.h"
#include "lab/ops/CallCost.h"
#include "lab/problems/Operands.h"
#include "runtime/NpyTensor.h"

#include <algorithm>

namespace lathe::lab {

namespace fs = std::filesystem;

/// One column during a row.
struct Contender {
  OpsColumn column;
  std::optional<ProviderWorker> worker; // started when it is needed; away after a failure that ended it
  double cpuOfEnded = 0;                // processor seconds of workers that are gone
  double secondsPerRun = 0;
  double spentSeconds = 0; // in turns and starts of this row
  OpsPoint *point = nullptr;

  /// What the worker was last asked to prepare, and did; none after any failure.
  struct Ready {
    std::string problem;
    store::CacheState cache;
    ProviderRequest request;
    ProviderPreparation preparation;
  };
  std::optional<Ready> ready;

  bool running() const { return worker && point->status == PointStatus::passed; }
  double cpuOfWorker() const { return worker ? worker->usage().cpuSeconds : 0; }
  double cpuSeconds() const { return cpuOfEnded + cpuOfWorker(); }
};

struct OpsLab::State {
  std::vector<Contender> contenders;
  OpsLabOptions options;
  TemporaryDirectory directory{"ops"};

  // Of the problem measured last: another number of threads finds them ready.
  std::string key;
  ProviderOperands operands;
  std::vector<Tensor> references; // by result
  std::vector<std::string> names; // of results
  Tolerance tolerance;
  std::string aboutFailures;                                                // what a wrong answer to it may come from
  OpsSetting setting;                                                       // of the row
  double constantBytes = 0;                                                 // of its problem
  std::map<std::pair<std::string, int>, std::optional<double>> callSeconds; // by provider and threads
  std::map<int, FullSpeed> speeds;                                          // by threads

  void say(const std::string &what) {
    if (options.progress)
      options.progress(what);
  }

  void writeOperands(const Problem &problem) {
    std::string wanted = problem.str();
    if (wanted == key)
      return;
    key.clear();
    operands.files.clear();
    auto values = makeOperands(problem, options.seed);
    operands.seed = options.seed;
    auto &files = operands.files;
    auto specs = problem.inputs();
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!specs[i])
        continue;
      const std::string &name = specs[i]->name;
      files[name] = (directory.path / (name + ".in.npy")).string();
      writeNpy(files[name], npyView(values[i]));
    }
    say("reference");
    references.clear();
    names.clear();
    tolerance = toleranceOf(problem);
    aboutFailures = problem.op.ends_with("_integer")
                        ? "; without VNNI libraries add pairs of 8-bit products in 16 bits, which saturates"
                        : "";
    // Rounded once, so that an output can be held against it element by element.
    auto types = problem.results();
    auto results = referenceResults(problem, values);
    for (size_t i = 0; i < results.size(); ++i) {
      references.push_back(results[i].convertedTo(types[i].type));
      names.push_back(types[i].name);
    }
    key = wanted;
  }

  /// Notes a failure, or hands the value out.
  template <class T> std::optional<T> take(Contender &contender, process::Result<T> outcome) {
    if (outcome)
      return std::move(*outcome);
    contender.point->status = statusOf(outcome.failure());
    contender.point->reason = outcome.failure().message();
    contender.point->rounds.clear();
    contender.point->counts.clear();
    contender.ready.reset();
    if (contender.worker && !contender.worker->alive()) {
      contender.cpuOfEnded += contender.worker->usage().cpuSeconds;
      contender.worker.reset();
    }
    return std::nullopt;
  }

  /// Fills in the request's schedule, the same in every start, and the point's task; false: the point says why not.
  bool chooseSchedule(Contender &contender, const Problem &problem, ProviderRequest &request) {
    OpsPoint &point = *contender.point;
    bool recorded = point.schedule == recordedSchedule;
    if (point.scheduleRun.empty()) {
      auto task = take(contender, contender.worker->task(problem, request));
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
        chosen = options.recordedSchedules ? options.recordedSchedules(point.task) : std::nullopt;
      if (!chosen)
        return decline("no tuning record of the task " + point.task);
      point.scheduleRun = *chosen;
    }
    request.schedule = point.scheduleRun;
    if (recorded)
      request.task = point.task;
    return true;
  }

  /// The worker's preparation. What it has prepared for a row that differs in the caches only serves where they are
  /// hot; whether it can be timed otherwise a provider says while preparing.
  std::optional<ProviderPreparation> prepare(Contender &contender, const Problem &problem,
                                             const ProviderRequest &request) {
    auto &ready = contender.ready;
    bool timeable = ready && (setting.cache == store::CacheState::hot || setting.cache == ready->cache);
    if (timeable && ready->problem == key && ready->request == request)
      return ready->preparation;
    ready.reset();
    auto prepared = take(contender, contender.worker->prepare(problem, request, operands, setting.cache));
    if (prepared && prepared->declined.empty())
      ready = {key, setting.cache, request, *prepared};
    return prepared;
  }

  /// Starts the worker where there is none; false: the point says why not.
  bool start(Contender &contender) {
    if (contender.worker)
      return true;
    ProviderSpec spec = contender.column.provider;
    spec.command = directory.keepingFilesHere(spec.command);
    auto started = take(contender, ProviderWorker::start(spec, options.limits, options.timeouts));
    if (started)
      contender.worker.emplace(std::move(*started));
    return started.has_value();
  }

  /// Fills in what a call of the provider costs; measured once for each number of threads.
  void measureCall(Contender &contender) {
    OpsPoint &point = *contender.point;
    auto [known, isNew] = callSeconds.try_emplace({point.provider, setting.threads});
    if (isNew && !options.checkOnly) {
      known->second = secondsOfCall(*contender.worker, setting.threads, options.seed, directory.path.string());
      contender.ready.reset();
      if (!contender.worker->alive()) {
        contender.cpuOfEnded += contender.worker->usage().cpuSeconds;
        contender.worker.reset();
      }
    }
    point.callSeconds = known->second;
  }

  /// From a problem to a checked answer. `earlier`: the points of columns before this one.
  void answer(Contender &contender, const Problem &problem, std::span<const OpsPoint> earlier) {
    OpsPoint &point = *contender.point;
    const OpsColumn &column = contender.column;
    bool able = column.caches.contains(setting.cache);
    if (!column.lacks.empty() || !able) {
      point.status = PointStatus::unimplemented;
      point.version = column.version;
      point.reason = column.lacks.empty() ? cannotEmptyCaches(point.provider) : column.lacks;
      return;
    }
    if (!start(contender))
      return;
    contender.worker->resume();
    measureCall(contender);
    if (!start(contender)) // where the least problem broke it
      return;
    point.version = contender.worker->version();
    point.uncounted = contender.worker->uncounted();
    ProviderRequest request{point.variant, setting.threads, setting.layout, ""};
    if (!point.schedule.empty() && !chooseSchedule(contender, problem, request))
      return;
    auto prepared = prepare(contender, problem, request);
    if (!prepared)
      return;
    point.implementation = prepared->implementation;
    if (!prepared->schedule.empty()) { // else what it was asked for
      point.task = prepared->task;
      point.scheduleRun = prepared->schedule;
    }
    point.prepareSeconds = prepared->seconds;
    if (!prepared->declined.empty()) {
      point.status = PointStatus::unimplemented;
      point.reason = prepared->declined;
      return;
    }
    auto outputs = take(contender, contender.worker->run(directory.path.string()));
    if (!outputs)
      return;
    judge(point, *outputs);
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

  /// The point's status from its outputs: the worst of them.
  void judge(OpsPoint &point, const std::map<std::string, Tensor> &outputs) {
    point.status = PointStatus::passed;
    for (size_t i = 0; i < names.size(); ++i) {
      Agreement agreement;
      if (auto output = outputs.find(names[i]); output != outputs.end())
        agreement = agreementOf(names[i], output->second, references[i], tolerance);
      else
        agreement.reason = fmt::format("no output '{}'", names[i]);
      point.relativeL2 = std::max(point.relativeL2, agreement.relativeL2);
      point.maxDifference = std::max(point.maxDifference, agreement.maxDifference);
      if (!agreement.agrees && point.status != PointStatus::failed) {
        point.status = PointStatus::failed;
        point.reason = agreement.reason + aboutFailures;
      } else if (point.status == PointStatus::passed && !agreement.mistrust.empty() && references[i].elements() > 1) {
        point.status = PointStatus::mistrusted;
        point.reason = "the right output is " + agreement.mistrust;
      }
    }
  }

  void estimate(Contender &contender) {
    auto once = take(contender, contender.worker->time(0, 1, setting.cache));
    if (!once)
      return;
    contender.secondsPerRun = once->seconds.front();
    if (contender.secondsPerRun < options.roundSeconds)
      if (auto more = take(contender, contender.worker->time(1, 3, setting.cache)))
        contender.secondsPerRun = *std::min_element(more->seconds.begin(), more->seconds.end());
  }

  void takeTurn(Contender &contender) {
    // Of flushing, about: a process's memory, or the lines of what is constant.
    double flushSeconds = setting.cache == store::CacheState::cold            ? 5e-3
                          : setting.cache == store::CacheState::coldConstants ? constantBytes / 64 * 2e-8
                                                                              : 0;
    double runs = options.roundSeconds / std::max(contender.secondsPerRun + flushSeconds, 1e-7);
    // The other columns have emptied the caches: warm again before the clock runs.
    int warmup = runs < 1 || setting.cache == store::CacheState::cold ? 0 : 1;
    if (auto timing =
            take(contender, contender.worker->time(warmup, int(std::clamp(runs, 1.0, 1000.0)), setting.cache))) {
      contender.point->rounds.push_back(std::move(timing->seconds));
      contender.point->counts.push_back(timing->counts);
    }
  }

  template <class Work> void inTurn(Contender &contender, Work work) {
    if (!contender.running())
      return;
    double began = steadySeconds();
    contender.worker->resume();
    work();
    if (contender.worker)
      contender.worker->pause();
    contender.spentSeconds += steadySeconds() - began;
  }

  /// Whether the column gets no further turns in this row (OpsLabOptions).
  bool usedUp(const Contender &contender) const {
    if (contender.point->rounds.empty() || contender.spentSeconds <= options.maxSeconds / double(contenders.size()))
      return false;
    return std::any_of(contenders.begin(), contenders.end(), [&](const Contender &other) {
      return other.point->provider == contender.point->provider && other.running() && other.secondsPerRun > 0 &&
             other.secondsPerRun < contender.secondsPerRun;
    });
  }

  double cpuSeconds() const {
    double seconds = ownCpuSeconds();
    for (auto &contender : contenders)
      seconds += contender.cpuSeconds();
    return seconds;
  }

  /// The column's process anew: where its memory lies is chance, and a part of the time.
  void startAgain(Contender &contender, const Problem &problem) {
    double began = steadySeconds();
    contender.cpuOfEnded += contender.cpuOfWorker();
    contender.worker->quit();
    contender.worker.reset();
    contender.ready.reset();
    answer(contender, problem, {});
    if (contender.worker)
      contender.worker->pause();
    contender.spentSeconds += steadySeconds() - began;
  }

  /// A column as the engine sees it.
  struct Side : TimedSide {
    Side(State &state, Contender &contender, const Problem &problem)
        : state(state), contender(contender), problem(problem) {}
    bool running() const override { return contender.running() && !state.usedUp(contender); }
    void startAgain() override { state.startAgain(contender, problem); }
    void estimate() override {
      state.inTurn(contender, [&] { state.estimate(contender); });
    }
    void takeTurn() override {
      state.inTurn(contender, [&] { state.takeTurn(contender); });
    }
    const std::vector<std::vector<double>> &rounds() const override { return contender.point->rounds; }

    State &state;
    Contender &contender;
    const Problem &problem;
  };

  void timeRounds(OpsRow &row, const Problem &problem) {
    DisturbanceMeter meter([this] { return cpuSeconds(); });
    std::vector<Side> sides;
    for (Contender &contender : contenders)
      sides.emplace_back(*this, contender, problem);
    std::vector<TimedSide *> pointers;
    for (Side &side : sides)
      pointers.push_back(&side);
    TurnWatch watch;
    watch.decided = [&](const std::vector<size_t> &starts) {
      row.starts = starts;
      decide(row);
      return std::all_of(row.verdicts.begin(), row.verdicts.end(),
                         [](auto &verdict) { return verdict.decidedAfter > 0; });
    };
    FullSpeed &speed = speeds.try_emplace(setting.threads, setting.threads).first->second;
    size_t slow = speed.slow();
    TurnOptions turns = options;
    turns.fullSpeed = &speed;
    row.starts = takeTurns(pointers, turns, watch);
    row.slowRounds = speed.slow() - slow;
    for (const Contender &contender : contenders)
      contender.point->leftOut = usedUp(contender);
    decide(row);
    auto [others, stolen] = meter.read();
    row.otherProcessors = others;
    row.stolenProcessors = stolen;
  }

  /// Operations per second that the column's machine can do at most; another machine's are not known.
  double peakOf(const Contender &contender, const Problem &problem) const {
    std::optional<ElementType> type;
    if (!problem.operands.empty())
      type = problem.operands.front().type;
    return contender.column.provider.remote ? declaredPeakAnywhere(setting.threads)
                                            : declaredPeak(type, setting.threads);
  }

  /// A time that the machine cannot reach is not believed, and is compared with nothing.
  void mistrustUnreachable(OpsRow &row) {
    for (Contender &contender : contenders) {
      OpsPoint &point = *contender.point;
      if (!point.timed() || point.status != PointStatus::passed)
        continue;
      const Problem &problem = row.listed.problem;
      std::string reason = beyondReach(problem.flops(), point.time.median, peakOf(contender, problem));
      if (reason.empty())
        continue;
      point.status = PointStatus::mistrusted;
      point.reason = reason;
    }
  }

  /// Summaries of what was timed, and best against best.
  void decide(OpsRow &row) {
    std::map<std::string, size_t> best; // by provider
    for (size_t i = 0; i < row.points.size(); ++i) {
      OpsPoint &point = row.points[i];
      std::vector<double> pooled;
      for (auto &round : point.rounds)
        pooled.insert(pooled.end(), round.begin(), round.end());
      point.time = summarize(pooled);
    }
    mistrustUnreachable(row);
    for (size_t i = 0; i < row.points.size(); ++i) {
      const OpsPoint &point = row.points[i];
      if (!point.timed() || point.status != PointStatus::passed)
        continue;
      auto [found, isNew] = best.emplace(point.provider, i);
      if (!isNew && point.time.median < row.points[found->second].time.median)
        found->second = i;
    }
    auto earlier = std::move(row.verdicts);
    row.verdicts.clear();
    const std::string &us = row.points.front().provider;
    for (auto &[provider, index] : best) {
      if (provider == us || !best.count(us))
        continue;
      auto &mine = row.points[best[us]], &theirs = row.points[index];
      auto before = std::find_if(earlier.begin(), earlier.end(), [&](auto &one) { return one.peer == provider; });
      JudgedPair judged = judgePair({theirs.rounds, theirs.callSeconds}, {mine.rounds, mine.callSeconds}, row.starts,
                                    options, before == earlier.end() ? JudgedPair() : *before);
      row.verdicts.push_back({judged, provider, best[us], index});
    }
  }
};

OpsLab::OpsLab(std::vector<OpsColumn> columns, OpsLabOptions options) : state(std::make_unique<State>()) {
  require(!columns.empty(), "no provider is given");
  for (auto &column : columns) {
    state->contenders.emplace_back();
    state->contenders.back().column = std::move(column);
  }
  state->options = std::move(options);
}

OpsLab::~OpsLab() {
  for (auto &contender : state->contenders)
    if (contender.worker)
      contender.worker->quit();
}

OpsRow OpsLab::measure(const ListedProblem &problem, const OpsSetting &setting) {
  OpsRow row;
  row.listed = problem;
  row.setting = setting;
  state->setting = setting;
  state->constantBytes = problem.problem.constantBytes();
  row.points.resize(state->contenders.size());
  state->writeOperands(problem.problem);
  for (size_t i = 0; i < row.points.size(); ++i) {
    Contender &contender = state->contenders[i];
    contender.point = &row.points[i];
    contender.spentSeconds = contender.secondsPerRun = 0;
    contender.point->provider = contender.column.provider.name;
    contender.point->variant = contender.column.variant;
    contender.point->schedule = contender.column.schedule;
    state->say(contender.column.name());
    state->answer(contender, problem.problem, std::span(row.points).first(i));
    // From here on it only moves in its turn: spinning threads would slow down the others.
    if (contender.worker)
      contender.worker->pause();
  }
  if (!state->options.checkOnly)
    state->timeRounds(row, problem.problem);
  return row;
}

} // namespace lathe::lab
