#include "lab/ops/OpsLab.h"

#include "lab/TemporaryDirectory.h"
#include "lab/machine/Disturbance.h"
#include "lab/ops/CallCost.h"
#include "lab/problems/Operands.h"
#include "runtime/NpyTensor.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lathe::lab {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// One column during a row.
struct Contender {
  OpsColumn column;
  std::optional<ProviderWorker> worker; // started when it is needed; away after a failure that ended it
  double cpuOfEnded = 0;                // processor seconds of workers that are gone
  double secondsPerRun = 0;
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
      if (point.schedule == recordedSchedule)
        chosen = options.bestSchedule ? options.bestSchedule(point.task) : std::nullopt;
      if (!chosen)
        return decline("no tuning record of the task " + point.task);
      point.scheduleRun = *chosen;
    }
    request.schedule = point.scheduleRun;
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
    contender.worker->resume();
    work();
    if (contender.worker)
      contender.worker->pause();
  }

  double cpuSeconds() const {
    double seconds = ownCpuSeconds();
    for (auto &contender : contenders)
      seconds += contender.cpuSeconds();
    return seconds;
  }

  /// Columns that can be timed, each ready and standing still.
  std::vector<Contender *> running() {
    std::vector<Contender *> chosen;
    for (auto &contender : contenders)
      if (contender.running())
        chosen.push_back(&contender);
    return chosen;
  }

  /// Every column's process anew: where its memory lies is chance, and a part of the time.
  void startAgain(const Problem &problem) {
    for (Contender *contender : running()) {
      contender->cpuOfEnded += contender->cpuOfWorker();
      contender->worker->quit();
      contender->worker.reset();
      contender->ready.reset();
      answer(*contender, problem, {});
      if (contender->worker)
        contender->worker->pause();
    }
  }

  /// True when the last `rounds` rounds know the ratio of each column's time to the first one's to a quarter of what
  /// matters (one standard error).
  static bool settled(const std::vector<Contender *> &columns, size_t rounds) {
    auto logarithm = [&](const Contender &column, size_t back) {
      return std::log(median(column.point->rounds.rbegin()[std::ptrdiff_t(back)]));
    };
    for (size_t column = columns.size() > 1 ? 1 : 0; column < columns.size(); ++column) {
      std::vector<double> ratios;
      for (size_t back = 0; back < rounds; ++back)
        ratios.push_back(logarithm(*columns[column], back) - (column > 0 ? logarithm(*columns[0], back) : 0));
      if (summarize(ratios).standardDeviation / std::sqrt(double(rounds)) > indifference / 4)
        return false;
    }
    return true;
  }

  /// Rounds of one start; how many were made: its share of minRounds, more for `least` seconds, and where rounds differ
  /// so much that they say little of the start, for up to `most`. Its share of maxSeconds ends them after three.
  size_t timeStart(double least, double most) {
    auto chosen = running();
    for (Contender *contender : chosen)
      inTurn(*contender, [&] { estimate(*contender); });
    auto began = Clock::now();
    constexpr int always = 3;
    int fewest = std::max((options.minRounds + options.minStarts - 1) / options.minStarts, always),
        limit = std::max(options.maxRounds / options.minStarts, fewest);
    double share = options.maxSeconds / options.minStarts;
    int round = 0;
    while (round < limit && !chosen.empty()) {
      std::rotate(chosen.begin(), chosen.begin() + 1, chosen.end()); // everybody is first equally often
      for (Contender *contender : chosen)
        inTurn(*contender, [&] { takeTurn(*contender); });
      std::erase_if(chosen, [](Contender *contender) { return !contender->running(); });
      ++round;
      double elapsed = std::chrono::duration<double>(Clock::now() - began).count();
      bool enough = round >= fewest && elapsed >= least && (elapsed >= most || settled(chosen, size_t(round)));
      if (enough || (round >= always && elapsed >= share))
        break;
    }
    return size_t(round);
  }

  void timeRounds(OpsRow &row, const Problem &problem) {
    DisturbanceMeter meter([this] { return cpuSeconds(); });
    double timed = 0;
    // Every look at the verdicts is a chance to be wrong: each comes after a third more starts than the one before.
    int look = options.minStarts;
    for (int made = 1; made <= options.maxStarts && !running().empty(); ++made) {
      auto start = Clock::now();
      if (made > 1)
        startAgain(problem);
      auto began = Clock::now();
      auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
      // Timing may take as long as starting did.
      row.starts.push_back(timeStart(options.maxSeconds / options.maxStarts, seconds(began - start)));
      timed += seconds(Clock::now() - began);
      if (made >= options.minStarts && timed >= options.maxSeconds)
        break;
      if (made < look)
        continue;
      look = std::max(look + 1, look * 4 / 3);
      decide(row);
      if (std::all_of(row.verdicts.begin(), row.verdicts.end(), [](auto &verdict) { return verdict.decidedAfter > 0; }))
        break;
    }
    decide(row);
    auto [others, stolen] = meter.read();
    row.otherProcessors = others;
    row.stolenProcessors = stolen;
  }

  /// A point's rounds by start, as far as both points of a pair have them.
  static Starts byStart(const OpsRow &row, const OpsPoint &point, size_t rounds) {
    Starts result;
    size_t begin = 0;
    for (size_t count : row.starts) {
      size_t end = std::min(begin + count, rounds);
      if (begin < end)
        result.emplace_back(point.rounds.begin() + int64_t(begin), point.rounds.begin() + int64_t(end));
      begin = end;
    }
    return result;
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
      if (!point.timed())
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
      OpsVerdict verdict;
      verdict.peer = provider;
      verdict.ours = best[us];
      verdict.theirs = index;
      auto &mine = row.points[verdict.ours], &theirs = row.points[verdict.theirs];
      size_t common = std::min(mine.rounds.size(), theirs.rounds.size());
      auto above = byStart(row, theirs, common), below = byStart(row, mine, common);
      JudgedRatio judged = besideOverhead(judgeInTurns(above, below), {theirs.time.median, theirs.callSeconds},
                                          {mine.time.median, mine.callSeconds});
      verdict.ratio = judged.ratio;
      verdict.verdict = verdict.alone = judged.verdict;
      verdict.withinOverhead = judged.withinOverhead;
      auto [low, high] = verdict.ratio.interval;
      bool enough = verdict.verdict != Verdict::ambiguous || verdict.withinOverhead ||
                    (high - low) / 2 <= options.precision * verdict.ratio.ratio;
      if (enough && row.starts.size() >= size_t(options.minStarts))
        verdict.decidedAfter = row.starts.size();
      for (auto &before : earlier)
        if (before.peer == verdict.peer && before.decidedAfter) {
          verdict.decidedAfter = before.decidedAfter;
          verdict.alone = before.alone;
        }
      row.verdicts.push_back(verdict);
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
