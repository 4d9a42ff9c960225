// How many measured schedules searchers need on kernels of networks, and how far the choice without measuring is from the
// best (docs/notes/tuning-search.md).
//
// A task counts where the median of the first 300 random schedules is more than 5 % above the best time known. The best of
// all schedules measured for a task are measured again in turns with the prior's, and the fastest there is the best known.
#include "SearchLog.h"
#include "SearchStudy.h"
#include "Study.h"

#include "lab/judging/Statistics.h"
#include "lab/judging/Turns.h"
#include "lab/machine/Machine.h"
#include "tune/model/TaskOfKernel.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace lathe::study {
namespace {

struct SearchOptions {
  std::string log;
  // The last two are drawn from the random schedules.
  std::vector<std::string> searchers = {"xgb_itervar", "random", "default_then_random"};
  size_t tasks = 60, random = 500, seeds = 5, trials = 257;
  uint64_t seed = 1;
  double minutes = never;
  bool report = false;
};

struct TimeIsOver {};

// ---- Tasks ----

/// The tasks of a network that have a choice, by family, each family in random order.
std::vector<std::vector<StudyTask>> tasksOf(const std::string &network, int threads, Random &random) {
  std::map<std::string, std::vector<StudyTask>> families;
  for (ModelKernel &kernel : kernelsOf({"zoo:" + network}, {threads}, "")) {
    Outcome<TaskToTune> task = taskToTune(kernel.task, lab::measureClock());
    if (task && spaceOf(*task).points() > 1)
      families[task->task.family].push_back({std::move(*task), std::move(kernel.task.facts), network, threads});
  }
  std::vector<std::vector<StudyTask>> all;
  for (auto &[family, tasks] : families) {
    std::shuffle(tasks.begin(), tasks.end(), random);
    all.push_back(std::move(tasks));
  }
  std::shuffle(all.begin(), all.end(), random);
  return all;
}

/// As many of each network and number of threads; of each of these as many of each family as there are.
std::vector<StudyTask> drawTasks(const SearchOptions &options) {
  Random random(options.seed);
  std::vector<StudyTask> drawn;
  std::set<std::string> known;
  const char *networks[] = {"resnet50", "mobilenet_v2", "densenet121", "inception_v3", "vit_b_16"};
  size_t strata = std::size(networks) * 2, done = 0;
  for (const char *network : networks)
    for (int threads : {1, 2}) {
      size_t wanted = options.tasks * (done + 1) / strata - options.tasks * done / strata;
      ++done;
      std::vector<std::vector<StudyTask>> families = tasksOf(network, threads, random);
      for (size_t got = 0, round = 0; got < wanted && round < 1000; ++round) {
        std::vector<StudyTask> &family = families[round % families.size()];
        if (family.empty())
          continue;
        StudyTask task = std::move(family.back());
        family.pop_back();
        if (!known.insert(task.task.task.key).second)
          continue;
        drawn.push_back(std::move(task));
        ++got;
      }
    }
  return drawn;
}

// ---- Measuring ----

/// Measures what the log does not have.
class LoggedRunner : public TrialRunner {
public:
  LoggedRunner(SearchLog &log, const SearchOptions &options, int threads)
      : log(log), mayMeasure(!options.report), deadline(lab::steadySeconds() + 60 * options.minutes),
        measurer(measureOptions(threads)) {}

  Outcome<bool> prepare(const Task &) override { return true; }
  std::vector<Measurement> measure(const Task &task, const std::vector<std::string> &schedules, double best) override {
    std::vector<std::string> missing;
    for (const std::string &schedule : schedules)
      if (!log.find(task.key, schedule))
        missing.push_back(schedule);
    if (!missing.empty()) {
      requireTime();
      measurer.measure(task, missing, best, [&](const Measurement &one) { log.add(task.key, one); });
    }
    std::vector<Measurement> results;
    for (const std::string &schedule : schedules)
      results.push_back(*log.find(task.key, schedule));
    return results;
  }
  std::vector<TurnMeasurement> inTurns(const Task &task, const std::vector<std::string> &schedules,
                                       double seconds) override {
    requireTime();
    return measurer.inTurns(task, schedules, seconds);
  }
  /// Declines a task that cannot be measured.
  Outcome<bool> isMeasurable(const Task &task) {
    if (!log.of(task.key).empty())
      return true;
    requireTime();
    return measurer.prepare(task);
  }

private:
  SearchLog &log;
  bool mayMeasure;
  double deadline;
  Measurer measurer;

  void requireTime() const {
    if (!mayMeasure || lab::steadySeconds() > deadline)
      throw TimeIsOver();
  }
};

double secondsOf(const Measurement &one) { return one.passed() ? one.best() : never; }
double costOf(const Measurement &one) { return one.build / 2 + one.run; } // two builders

void measureRandom(Studied &studied, LoggedRunner &runner, const SearchOptions &options) {
  const TaskToTune &task = studied.task->task;
  Space space = spaceOf(task);
  studied.points = space.points();
  Random random(options.seed);
  std::set<std::string> known;
  double best = never;
  for (size_t tries = 0; studied.random.size() < options.random && tries < 4 * options.random;) {
    std::vector<std::string> batch;
    constexpr size_t together = 16;
    for (;
         batch.size() < together && studied.random.size() + batch.size() < options.random && tries < 4 * options.random;
         ++tries)
      if (auto point = space.draw(random))
        if (std::string schedule = space.schedule(*point).str(); known.insert(schedule).second)
          batch.push_back(schedule);
    if (batch.empty())
      break;
    for (const Measurement &one : runner.measure(task.task, batch, best)) {
      studied.random.push_back(secondsOf(one));
      studied.randomCost.push_back(costOf(one));
      studied.failed += !one.passed();
      best = std::min(best, secondsOf(one));
    }
  }
}

/// Searches until one trial is near the best known, with at most so many trials.
Search search(const Studied &studied, LoggedRunner &runner, const std::string &searcher, uint64_t seed,
              const SearchOptions &options, double best) {
  Search result;
  for (size_t limit = 9; limit <= options.trials; limit = 2 * limit - 1) { // a prefix of the next one: batches of 8
    result = {};
    TuneOptions tuning;
    tuning.searcher = searcher;
    tuning.seed = seed;
    tuning.trials = limit;
    tuning.margin = 0;
    TuneWatch watch;
    watch.measured = [&](size_t, const std::vector<Measurement> &all) {
      for (const Measurement &one : all) {
        result.seconds.push_back(secondsOf(one));
        result.cost.push_back(costOf(one));
      }
    };
    std::vector<TaskToTune> one = {studied.task->task};
    Tuner(one, runner, tuning, watch).search();
    if (result.seconds.size() < limit || *std::min_element(result.seconds.begin(), result.seconds.end()) <= near * best)
      break;
  }
  return result;
}

/// The random schedules in an order of this seed, behind `first` if there is one.
Search randomSearch(const Studied &studied, const Measurement *first, uint64_t seed) {
  std::vector<size_t> order(studied.random.size());
  std::iota(order.begin(), order.end(), size_t(0));
  Random random(seed);
  std::shuffle(order.begin(), order.end(), random);
  Search result;
  if (first) {
    result.seconds.push_back(secondsOf(*first));
    result.cost.push_back(costOf(*first));
  }
  for (size_t i : order) {
    result.seconds.push_back(studied.random[i]);
    result.cost.push_back(studied.randomCost[i]);
  }
  return result;
}

double bestInLog(const SearchLog &log, const std::string &task) {
  double best = never;
  for (const auto &[schedule, one] : log.of(task))
    best = std::min(best, secondsOf(one));
  return best;
}

/// Seconds of schedule `best` as a trial: clocks differ, so all of the turns say it by their trials and ratios; the median.
double asTrial(const TurnsOfTask &turns, size_t best, const SearchLog &log, const std::string &task) {
  auto speed = [&](size_t i) { return i ? turns.speed[i] : 1; };
  std::vector<double> seconds;
  for (size_t i = 0; i < turns.schedules.size(); ++i)
    if (const Measurement *trial = log.find(task, turns.schedules[i]); trial && trial->passed() && speed(i) > 0)
      seconds.push_back(trial->best() * speed(i) / speed(best));
  return seconds.empty() ? turns.seconds[best] : lab::median(seconds);
}

/// Turns of the prior's schedule and the fastest others.
void settle(Studied &studied, SearchLog &log, LoggedRunner &runner, const std::string &prior) {
  constexpr size_t finalists = 6;
  constexpr double seconds = 2;
  const Task &task = studied.task->task.task;
  std::vector<std::pair<double, std::string>> fastest;
  for (const auto &[schedule, one] : log.of(task.key))
    if (one.passed() && schedule != prior)
      fastest.push_back({one.best(), schedule});
  std::sort(fastest.begin(), fastest.end());
  fastest.resize(std::min(fastest.size(), finalists));
  std::vector<std::string> schedules = {prior};
  for (auto &[time, schedule] : fastest)
    schedules.push_back(schedule);
  const TurnsOfTask *known = log.turns(task.key);
  if (!known || (schedules.size() > 1 &&
                 std::find(known->schedules.begin(), known->schedules.end(), schedules[1]) == known->schedules.end())) {
    TurnsOfTask turns{schedules, {}, {}};
    for (const TurnMeasurement &one : runner.inTurns(task, schedules, seconds)) {
      turns.seconds.push_back(one.passed() ? one.best() : 1e9);
      turns.speed.push_back(one.passed() ? one.toFirst.ratio.ratio : 0);
    }
    log.setTurns(task.key, turns);
    known = log.turns(task.key);
  }
  size_t best = 0;
  for (size_t i = 1; i < known->schedules.size(); ++i)
    if (known->speed[i] > (best ? known->speed[best] : 1))
      best = i;
  studied.priorOff = best ? known->speed[best] : 1;
  studied.best = asTrial(*known, best, log, task.key);
}

// ---- The study ----

/// Random schedules, searches until nothing better turns up, and turns. Returns false for a task that cannot be measured.
bool study(Studied &studied, SearchLog &log, LoggedRunner &runner, const SearchOptions &options) {
  const TaskToTune &task = studied.task->task;
  if (Outcome<bool> measurable = runner.isMeasurable(task.task); !measurable) {
    fmt::print(stderr, "{}: {}\n", task.task.label, measurable.reason());
    return false;
  }
  Space space = spaceOf(task);
  std::string prior = space.schedule(*space.point(readSchedule(task.prior))).str();
  Measurement priorMeasured = runner.measure(task.task, {prior}, never)[0];
  measureRandom(studied, runner, options);
  settle(studied, log, runner, prior);
  constexpr int rounds = 3; // a search may find a better schedule, to which the others then go on
  for (int round = 0; round < rounds && studied.counts(); ++round) {
    double before = bestInLog(log, task.task.key);
    for (const std::string &searcher : options.searchers) {
      std::vector<Search> &searches = studied.searches[searcher];
      searches.clear();
      for (uint64_t seed = options.seed; seed < options.seed + options.seeds; ++seed)
        if (searcher == "random" || searcher == "default_then_random")
          searches.push_back(randomSearch(studied, searcher == "random" ? nullptr : &priorMeasured, seed));
        else
          searches.push_back(search(studied, runner, searcher, seed, options, studied.best));
    }
    if (bestInLog(log, task.task.key) >= before)
      break;
    settle(studied, log, runner, prior);
  }
  return true;
}

void studySearches(const SearchOptions &options) {
  std::vector<StudyTask> tasks = drawTasks(options);
  SearchLog log(options.log);
  std::map<int, std::unique_ptr<LoggedRunner>> runners;
  for (int threads : {1, 2})
    runners[threads] = std::make_unique<LoggedRunner>(log, options, threads);
  std::vector<Studied> all;
  Progress progress(tasks.size());
  for (StudyTask &task : tasks) {
    Studied studied{.task = &task, .random = {}, .randomCost = {}, .searches = {}};
    try {
      if (study(studied, log, *runners[task.threads], options))
        all.push_back(std::move(studied));
    } catch (const TimeIsOver &) {
      fmt::print(stderr, "{}: not complete\n", task.task.task.label);
      if (!options.report)
        break;
    }
    progress.step();
  }
  require(!all.empty(), "{} has no complete task", options.log);
  auto counting = std::count_if(all.begin(), all.end(), [](const Studied &one) { return one.counts(); });
  fmt::print("{} tasks of {} are measured (seed {}); search matters on {}.\n\n", all.size(), tasks.size(), options.seed,
             counting);
  printTasks(all);
  if (counting) {
    printSearchers(all, options.searchers);
    printSearches(all, options.searchers);
  }
}

} // namespace

void addSearch(CLI::App &program) {
  static SearchOptions options;
  CLI::App &command = *program.add_subcommand(
      "search",
      "How many measured schedules searchers need on kernels of five networks at 1 and 2 threads, and how far "
      "the choice without measuring is from the best");
  command.add_option("--log", options.log, "Keep what is measured in this file; the same command goes on from there")
      ->required();
  command.add_option("--tasks", options.tasks, "Draw so many kernels");
  command.add_option("--seed", options.seed, "Seed of the kernels, of random schedules and of the first search");
  command.add_option("--random", options.random, "Random schedules of each kernel");
  addList(
      command, "--searchers", options.searchers,
      "Searchers; random and default_then_random take the random schedules, the latter behind the default schedule");
  command.add_option("--seeds", options.seeds, "Searches of each kernel and searcher");
  command.add_option("--trials", options.trials, "Trials of a search, at most (1 + 8 n)");
  command.add_option("--minutes", options.minutes, "Measure for so long at most");
  command.add_flag("--report", options.report, "Measure nothing");
  command.callback([] { studySearches(options); });
}

} // namespace lathe::study
