#include "tune/Tuner.h"

#include "lab/judging/Turns.h"

#include <algorithm>

namespace lathe::tune {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
/// Limit for a finalist's trial time / the prior's trial time: a slightly slower trial may prove faster in turns.
constexpr double finalistMargin = 1.01;

} // namespace

Space spaceOf(const TaskToTune &task) {
  // Random points that are tried to find out whether an algorithm computes the kernel, if its rule finds no schedule.
  constexpr size_t probes = 500;
  std::vector<Schedule> starts = task.rules;
  starts.push_back(readSchedule(task.prior));
  return Space(*task.facts, starts, probes);
}

struct Tuner::Running {
  Space space;
  std::unique_ptr<Searcher> searcher;
  std::optional<TaskProgress> progress;                       // from the first measurement on
  std::map<std::string, double> passed;                       // seconds by schedule, in the clock of this run
  std::string priorText;                                      // text of the prior's schedule, as the space writes it
  double prior = never;                                       // seconds of the prior's schedule
  TurnMeasurement priorMeasured;                              // the prior's schedule, measured alone
  size_t trials = 0, searched = 0, failed = 0, sinceGain = 0; // searched, failed: in this run
  std::map<store::PointStatus, size_t> failures;
  std::string declined;    // why the task cannot be measured
  bool isExpected = false; // the gain of the first batch is known from other tasks, so half a batch is enough

  Running(const TaskToTune &task, const TuneOptions &options, StartModel startModel) : space(spaceOf(task)) {
    std::vector<Point> starts;
    for (const Schedule &schedule : task.rules)
      if (std::optional<Point> start = space.point(schedule))
        starts.push_back(*start);
    searcher = makeSearcher(options.searcher.empty() ? searcherNames().front().first : options.searcher, space,
                            options.seed, std::move(starts), std::move(startModel));
    std::optional<Point> point = space.point(readSchedule(task.prior));
    require(point.has_value(), "internal: the prior's schedule '{}' is not in the space of {}", task.prior,
            task.task.key);
    priorText = space.schedule(*point).str();
  }

  double best() const {
    double least = never;
    for (const auto &[schedule, seconds] : passed)
      least = std::min(least, seconds);
    return least;
  }
  void count(const Measurement &measurement) {
    ++trials;
    if (!measurement.passed())
      ++failures[measurement.status];
  }
};

void TunedTask::drop() {
  schedule = prior;
  gained = false;
  after = before;
}

Tuner::Tuner(const std::vector<TaskToTune> &tasks, TrialRunner &runner, TuneOptions given, TuneWatch watch)
    : tasks(tasks), runner(runner), options(std::move(given)), watch(std::move(watch)) {
  if (!options.clock)
    options.clock = lab::steadySeconds;
  for (size_t task = 0; task < tasks.size(); ++task) {
    StartModel startModel;
    if (options.startModel)
      startModel = [of = options.startModel, task] { return of(task); };
    running.push_back(std::make_unique<Running>(tasks[task], options, std::move(startModel)));
  }
}
Tuner::~Tuner() = default;

double Tuner::now() const { return options.clock(); }

double Tuner::settleSeconds() const {
  double sum = 0;
  for (size_t task = 0; task < tasks.size(); ++task)
    if (finalists(task).size() > 1)
      sum += options.settleSeconds;
  return sum;
}

void Tuner::tell(size_t task, double current) const {
  if (!watch.progress)
    return;
  TuneState state{.task = task, .current = current, .best = running[task]->best()};
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Running &one = *running[i];
    state.trials += one.searched;
    state.failed += one.failed;
    double prior = one.prior < never ? one.prior : tasks[i].predictedSeconds;
    state.beforeSeconds += double(tasks[i].task.count) * prior;
    state.modelSeconds += one.progress ? one.progress->modelSeconds() : double(tasks[i].task.count) * prior;
  }
  std::vector<TaskProgress> progress;
  for (const auto &one : running)
    if (one->progress)
      progress.push_back(*one->progress);
  double left = options.deadline - now();
  state.begun = progress.size() == tasks.size();
  if (state.begun)
    left = std::min(left, secondsToEnd(std::move(progress), options.margin) + settleSeconds());
  if (left < never)
    state.secondsLeft = std::max(0.0, left);
  watch.progress(state);
}

bool Tuner::tryBatch(size_t index, const std::vector<Point> &points) {
  const TaskToTune &task = tasks[index];
  Running &one = *running[index];
  if (points.empty())
    return false;
  std::vector<std::string> schedules;
  for (const Point &point : points)
    schedules.push_back(one.space.schedule(point).str());
  double start = now(), before = one.best();
  std::vector<Measurement> measurements = runner.measure(task.task, schedules, before);
  require(measurements.size() == points.size(), "internal: {} schedules were measured, expected {}",
          measurements.size(), points.size());
  std::vector<Trial> trials;
  double current = never;
  for (size_t i = 0; i < points.size(); ++i) {
    const Measurement &measurement = measurements[i];
    double seconds = measurement.passed() ? measurement.best() : never;
    trials.push_back({points[i], seconds});
    one.count(measurement);
    ++one.searched;
    one.failed += !measurement.passed();
    if (measurement.passed())
      one.passed[schedules[i]] = seconds;
    if (schedules[i] == one.priorText)
      static_cast<Measurement &>(one.priorMeasured) = measurement;
    one.sinceGain = seconds < std::min(before, current) ? 0 : one.sinceGain + 1;
    current = std::min(current, seconds);
  }
  one.searcher->report(trials);
  if (watch.measured)
    watch.measured(index, measurements);
  if (one.progress)
    one.progress->add(one.best(), now() - start);
  tell(index, current);
  return true;
}

/// Times of earlier runs are scaled by the ratio of the prior's times now and then, because clocks differ between days.
void Tuner::begin(size_t index) {
  const TaskToTune &task = tasks[index];
  Running &one = *running[index];
  double start = now();
  Outcome<bool> prepared = runner.prepare(task.task);
  if (!prepared) {
    one.declined = prepared.reason();
    one.progress.emplace(double(task.task.count), task.predictedSeconds, task.predictedSeconds, 0);
    one.progress->end();
    return;
  }
  Point prior = *one.space.point(readSchedule(task.prior));
  std::vector<Point> first = {prior};
  for (const std::string &kept : task.kept) {
    auto isIt = [&](const Measurement &known) { return known.schedule == kept; };
    bool isKnown = std::any_of(task.known.begin(), task.known.end(), isIt);
    std::optional<Point> point = one.space.point(readSchedule(kept));
    if (!isKnown && point && *point != prior && one.space.isLegal(*point))
      first.push_back(std::move(*point));
  }
  tryBatch(index, first);
  one.searched = first.size() - 1;
  if (auto found = one.passed.find(one.priorText); found != one.passed.end())
    one.prior = found->second;

  double scale = 1;
  for (const Measurement &known : task.known)
    if (known.passed() && known.schedule == one.priorText && one.prior < never)
      scale = one.prior / known.best();
  std::vector<Trial> trials;
  for (const Measurement &known : task.known) {
    std::optional<Point> point = one.space.point(readSchedule(known.schedule));
    if (!point || *point == prior)
      continue;
    one.count(known);
    double seconds = known.passed() ? known.best() * scale : never;
    if (known.passed())
      one.passed[known.schedule] = seconds;
    trials.push_back({std::move(*point), seconds});
  }
  one.searcher->report(trials);

  double best = one.best() < never ? one.best() : task.predictedSeconds;
  double batchSeconds = (now() - start) * double(options.batch) / double(first.size());
  size_t earlierBatches = trials.size() / options.batch;
  one.progress.emplace(double(task.task.count), std::min(task.floorSeconds, best),
                       earlierBatches && one.prior < never ? one.prior : best, batchSeconds);
  // the first batch gets all of the gain, because the order of the trials is unknown
  for (size_t batch = 0; batch < earlierBatches; ++batch)
    one.progress->add(best, batchSeconds);
  if (!earlierBatches)
    expectGain(index);
}

/// Uses other tasks to estimate the gain of the first batch.
void Tuner::expectGain(size_t index) {
  Running &one = *running[index];
  double start = now();
  if (start > options.deadline)
    return;
  if (std::optional<double> speedup = one.searcher->expectedSpeedup()) {
    one.progress->expect(one.best() / *speedup);
    one.isExpected = true;
  }
  choosing += now() - start;
}

bool Tuner::isTooLate(size_t task) {
  if (now() + running[task]->progress->batchSeconds() + settleSeconds() <= options.deadline)
    return false;
  reason = "the time is over";
  return true;
}

void Tuner::search() {
  for (size_t task = 0; task < tasks.size(); ++task) {
    begin(task);
    tell(task, running[task]->prior);
  }
  while (true) {
    std::vector<TaskProgress> progress;
    for (const auto &one : running)
      progress.push_back(*one->progress);
    std::optional<size_t> next = nextTask(progress, options.margin);
    if (!next) {
      bool all = std::all_of(progress.begin(), progress.end(), [](const TaskProgress &one) { return one.isEnded(); });
      reason = all ? "every task is at its limit" : "no more is expected to be gained";
      return;
    }
    if (isTooLate(*next))
      return;
    Running &one = *running[*next];
    size_t batch = std::exchange(one.isExpected, false) ? std::max<size_t>(1, options.batch / 2) : options.batch;
    size_t count = std::min(batch, options.trials - std::min(options.trials, one.trials));
    double start = now();
    std::vector<Point> points = one.searcher->propose(count); // may train a model, which takes seconds
    choosing += now() - start;
    if (isTooLate(*next))
      return;
    bool tried = tryBatch(*next, points);
    bool stale = options.earlyStopping && one.sinceGain >= options.earlyStopping;
    if (!tried || stale || one.trials >= options.trials)
      one.progress->end();
  }
}

std::vector<std::string> Tuner::finalists(size_t index) const {
  const Running &one = *running[index];
  std::vector<std::pair<double, std::string>> fastest;
  for (const auto &[schedule, seconds] : one.passed)
    if (schedule != one.priorText && seconds < one.prior * finalistMargin)
      fastest.push_back({seconds, schedule});
  std::sort(fastest.begin(), fastest.end());
  if (fastest.size() > options.finalists)
    fastest.resize(options.finalists);
  for (const std::string &kept : tasks[index].kept)
    if (auto known = one.passed.find(kept); known != one.passed.end() && kept != one.priorText) {
      std::pair<double, std::string> entry(known->second, kept);
      if (std::find(fastest.begin(), fastest.end(), entry) == fastest.end())
        fastest.push_back(entry);
    }
  std::vector<std::string> schedules;
  if (one.prior < never)
    schedules.push_back(one.priorText);
  for (auto &[seconds, schedule] : fastest)
    schedules.push_back(schedule);
  return schedules;
}

TunedTask Tuner::settle(size_t index) {
  const Running &one = *running[index];
  TunedTask result{.declined = one.declined,
                   .prior = one.priorText,
                   .schedule = one.priorText,
                   .trials = one.trials,
                   .searched = one.searched,
                   .failures = one.failures};
  bool priorPassed = one.prior < never;
  result.before = result.after = priorPassed ? one.prior : 0;
  std::vector<std::string> schedules = finalists(index);
  if (schedules.size() <= (priorPassed ? 1 : 0)) {
    if (priorPassed)
      result.finalists = {one.priorMeasured}; // no trial came near it
    return result;
  }
  result.finalists = runner.inTurns(tasks[index].task, schedules, options.settleSeconds);
  const std::vector<TurnMeasurement> &measured = result.finalists;
  if (priorPassed) {
    if (!measured[0].passed())
      return result;
    result.before = result.after = measured[0].best();
  }
  for (size_t i = priorPassed ? 1 : 0; i < schedules.size(); ++i) {
    if (!measured[i].passed())
      continue;
    const lab::JudgedRatio &speed = measured[i].toFirst;
    bool faster = !priorPassed || speed.verdict == lab::Verdict::faster;
    double after = priorPassed ? result.before / speed.ratio.ratio : measured[i].best();
    bool better = faster && (!result.gained || after < result.after);
    if (priorPassed && (better || !result.ratio)) // of the kept schedule, or of the fastest in its trial
      result.ratio = speed;
    if (!better)
      continue;
    result.schedule = schedules[i];
    result.gained = true;
    result.after = after;
  }
  return result;
}

std::vector<TunedTask> Tuner::settle() {
  std::vector<TunedTask> results;
  for (size_t task = 0; task < tasks.size(); ++task) {
    results.push_back(settle(task));
    if (watch.settled)
      watch.settled(task, results.back());
  }
  return results;
}

} // namespace lathe::tune
