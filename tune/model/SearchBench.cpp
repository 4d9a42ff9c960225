// search-bench: how many measured schedules searchers need on kernels of networks, and how far the choice without measuring
// is from the best.
//
//   search-bench --log FILE [option value]...
//   --log FILE       what was measured, JSON lines; the same command goes on from there
//   --tasks N        distinct kernels, drawn from five networks at 1 and 2 threads, default 60
//   --seed N         of the draw and of random schedules, default 1; the first search has the same
//   --random N       random schedules of each task, default 500
//   --searchers L    default xgb_itervar,random; random is drawn from the random schedules
//   --seeds N        searches of each task and searcher, default 5
//   --trials N       of a search, at most, default 257 (1 + 8 n)
//   --minutes M      measure for so long at most, default until all is measured
//   --report         measure nothing
//
// A task counts where the median of the first 300 random schedules is more than 5 % above the best time known. The best of
// all schedules measured for a task are measured again in turns with the prior's, and the fastest there is the best known.
#include "import/Import.h"
#include "ir/Context.h"
#include "lab/judging/Statistics.h"
#include "lab/judging/Turns.h"
#include "lab/machine/Machine.h"
#include "ops/Lowerings.h"
#include "support/Text.h"
#include "tune/measure/Measure.h"
#include "tune/model/SearchLog.h"
#include "tune/model/TaskOfKernel.h"
#include "zoo/Zoo.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <sstream>

using namespace lathe;
using namespace lathe::tune;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double near = 1.03;    // a search has ended well within this of the best known
constexpr double matters = 1.05; // of the median of random schedules over the best known
constexpr size_t forMedian = 300;

struct Options {
  std::string log;
  std::vector<std::string> searchers = {"xgb_itervar", "random"};
  size_t tasks = 60, random = 500, seeds = 5, trials = 257;
  uint64_t seed = 1;
  double minutes = never;
  bool report = false;
};

struct TimeIsOver {};

// ---- Tasks ----

struct StudyTask {
  TaskToTune task;
  std::unique_ptr<KernelFacts> facts;
  std::string network;
  int threads;
};

/// The tasks of a network that have a choice, by family, each family in random order.
std::vector<std::vector<StudyTask>> tasksOf(const std::string &network, int threads, Random &random) {
  auto context = makeContext();
  auto module = buildZoo(*context, network);
  CompileOptions options;
  options.threads = threads;
  std::map<std::string, std::vector<StudyTask>> families;
  for (KernelTask &kernel : kernelTasks(*module, options)) {
    Outcome<TaskToTune> task = taskToTune(kernel, lab::measureClock());
    if (task && spaceOf(*task).points() > 1)
      families[task->task.family].push_back({std::move(*task), std::move(kernel.facts), network, threads});
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
std::vector<StudyTask> drawTasks(const Options &options) {
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

MeasureOptions measureOptions(int threads) {
  MeasureOptions options;
  options.threads = threads;
  return options;
}

/// Measures what the log does not have.
class LoggedRunner : public TrialRunner {
public:
  LoggedRunner(SearchLog &log, const Options &options, int threads)
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

/// One search: the seconds of its trials in order (infinite: failed), and what they cost.
struct Search {
  std::vector<double> seconds, cost;
};

/// What is known of a task.
struct Studied {
  const StudyTask *task;
  std::vector<double> random;                          // seconds of the random schedules in the order of the draw
  std::map<std::string, std::vector<Search>> searches; // by searcher
  double points = 0, best = never, priorOff = 0;       // best: seconds; priorOff: the prior's time over the best's
  size_t failed = 0;

  bool counts() const {
    std::vector<double> first(random.begin(), random.begin() + std::ptrdiff_t(std::min(forMedian, random.size())));
    return !first.empty() && lab::median(first) > matters * best;
  }
};

double secondsOf(const Measurement &one) { return one.passed() ? one.best() : never; }

void measureRandom(Studied &studied, LoggedRunner &runner, const Options &options) {
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
      studied.failed += !one.passed();
      best = std::min(best, secondsOf(one));
    }
  }
}

/// Searches until one trial is near the best known, with at most so many trials.
Search search(const Studied &studied, LoggedRunner &runner, const std::string &searcher, uint64_t seed,
              const Options &options, double best) {
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
        result.cost.push_back(one.build / 2 + one.run); // two builders
      }
    };
    std::vector<TaskToTune> one = {studied.task->task};
    Tuner(one, runner, tuning, watch).search();
    if (result.seconds.size() < limit || *std::min_element(result.seconds.begin(), result.seconds.end()) <= near * best)
      break;
  }
  return result;
}

/// The prior first, then the random schedules in an order of this seed.
Search randomSearch(const Studied &studied, double prior, uint64_t seed) {
  Search result{studied.random, {}};
  Random random(seed);
  std::shuffle(result.seconds.begin(), result.seconds.end(), random);
  result.seconds.insert(result.seconds.begin(), prior);
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

// ---- Tables ----

double trialsTo(const Search &search, double seconds) {
  for (size_t i = 0; i < search.seconds.size(); ++i)
    if (search.seconds[i] <= seconds)
      return double(i + 1);
  return never;
}

std::vector<double> trialsOf(const Studied &studied, const std::string &searcher) {
  std::vector<double> needed;
  for (const Search &search : studied.searches.at(searcher))
    needed.push_back(trialsTo(search, near * studied.best));
  return needed;
}

std::string number(double value) { return value < never ? fmt::format("{:.0f}", value) : "more"; }

void printTasks(const std::vector<Studied> &all) {
  std::printf("| task | network, threads | points | random median over best | prior over best | counts |\n"
              "|---|---|---|---|---|---|\n");
  for (const Studied &studied : all) {
    std::vector<double> first(studied.random.begin(),
                              studied.random.begin() + std::ptrdiff_t(std::min(forMedian, studied.random.size())));
    std::printf("| %s | %s, %d | %.3g | %.2f | %.3f | %s |\n", studied.task->task.task.label.c_str(),
                studied.task->network.c_str(), studied.task->threads, studied.points,
                first.empty() ? 0 : lab::median(first) / studied.best, studied.priorOff,
                studied.counts() ? "yes" : "no");
  }
}

/// The best time after so many trials over the best known, over all searches of tasks that count.
std::vector<double> bestAfter(const std::vector<Studied> &all, const std::string &searcher, size_t trials) {
  std::vector<double> ratios;
  for (const Studied &studied : all) {
    if (!studied.counts())
      continue;
    for (const Search &search : studied.searches.at(searcher)) {
      auto end = search.seconds.begin() + std::ptrdiff_t(std::min(trials, search.seconds.size()));
      ratios.push_back(*std::min_element(search.seconds.begin(), end) / studied.best);
    }
  }
  return ratios;
}

void printSearchers(const std::vector<Studied> &all, const Options &options) {
  std::printf("\n| searcher | trials to 3 %% | most | searches that did not get there |");
  constexpr size_t after[] = {1, 8, 16, 32, 64, 128, 256};
  for (size_t trials : after)
    std::printf(" best after %zu |", trials);
  std::printf("\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string &searcher : options.searchers) {
    std::vector<double> medians, every;
    for (const Studied &studied : all)
      if (studied.counts()) {
        std::vector<double> needed = trialsOf(studied, searcher);
        medians.push_back(lab::median(needed));
        every.insert(every.end(), needed.begin(), needed.end());
      }
    auto missed = std::count(every.begin(), every.end(), never);
    std::printf("| %s | %s | %s | %ld of %zu |", searcher.c_str(), number(lab::median(medians)).c_str(),
                number(*std::max_element(medians.begin(), medians.end())).c_str(), long(missed), every.size());
    for (size_t trials : after) {
      std::vector<double> ratios = bestAfter(all, searcher, trials);
      std::printf(" %.3f (%.3f to %.3f) |", lab::median(ratios), lab::percentile(ratios, 10),
                  lab::percentile(ratios, 90));
    }
    std::printf("\n");
  }
}

void printSearches(const std::vector<Studied> &all, const Options &options) {
  std::printf("\n| task |");
  for (const std::string &searcher : options.searchers)
    std::printf(" %s |", searcher.c_str());
  std::printf("\n|---|");
  for (size_t i = 0; i < options.searchers.size(); ++i)
    std::printf("---|");
  for (const Studied &studied : all) {
    if (!studied.counts())
      continue;
    std::printf("\n| %s |", studied.task->task.task.label.c_str());
    for (const std::string &searcher : options.searchers) {
      std::vector<double> needed = trialsOf(studied, searcher);
      std::printf(" %s (%s to %s) |", number(lab::median(needed)).c_str(),
                  number(*std::min_element(needed.begin(), needed.end())).c_str(),
                  number(*std::max_element(needed.begin(), needed.end())).c_str());
    }
  }
  std::printf("\n");
}

// ---- The study ----

/// Random schedules, searches until nothing better turns up, and turns. Returns false for a task that cannot be measured.
bool study(Studied &studied, SearchLog &log, LoggedRunner &runner, const Options &options) {
  const TaskToTune &task = studied.task->task;
  if (Outcome<bool> measurable = runner.isMeasurable(task.task); !measurable) {
    std::fprintf(stderr, "%s: %s\n", task.task.label.c_str(), measurable.reason().c_str());
    return false;
  }
  Space space = spaceOf(task);
  std::string prior = space.schedule(*space.point(readSchedule(task.prior))).str();
  double priorSeconds = secondsOf(runner.measure(task.task, {prior}, never)[0]);
  measureRandom(studied, runner, options);
  settle(studied, log, runner, prior);
  constexpr int rounds = 3; // a search may find a better schedule, to which the others then go on
  for (int round = 0; round < rounds && studied.counts(); ++round) {
    double before = bestInLog(log, task.task.key);
    for (const std::string &searcher : options.searchers) {
      std::vector<Search> &searches = studied.searches[searcher];
      searches.clear();
      for (uint64_t seed = options.seed; seed < options.seed + options.seeds; ++seed)
        searches.push_back(searcher == "random" ? randomSearch(studied, priorSeconds, seed)
                                                : search(studied, runner, searcher, seed, options, studied.best));
    }
    if (bestInLog(log, task.task.key) >= before)
      break;
    settle(studied, log, runner, prior);
  }
  return true;
}

void run(const Options &options) {
  std::vector<StudyTask> tasks = drawTasks(options);
  SearchLog log(options.log);
  std::map<int, std::unique_ptr<LoggedRunner>> runners;
  for (int threads : {1, 2})
    runners[threads] = std::make_unique<LoggedRunner>(log, options, threads);
  std::vector<Studied> all;
  double start = lab::steadySeconds();
  for (size_t i = 0; i < tasks.size(); ++i) {
    Studied studied{.task = &tasks[i], .random = {}, .searches = {}};
    try {
      if (study(studied, log, *runners[tasks[i].threads], options))
        all.push_back(std::move(studied));
    } catch (const TimeIsOver &) {
      std::fprintf(stderr, "task %zu of %zu is not complete\n", i + 1, tasks.size());
      if (!options.report)
        break;
    }
    std::fprintf(stderr, "task %zu of %zu, %s: %.0f s so far\n", i + 1, tasks.size(), tasks[i].task.task.label.c_str(),
                 lab::steadySeconds() - start);
  }
  require(!all.empty(), "{} has no complete task", options.log);
  auto counting = std::count_if(all.begin(), all.end(), [](const Studied &one) { return one.counts(); });
  std::printf("%zu tasks of %zu are measured (seed %lu); search matters on %ld.\n\n", all.size(), tasks.size(),
              static_cast<unsigned long>(options.seed), long(counting));
  printTasks(all);
  if (counting) {
    printSearchers(all, options);
    printSearches(all, options);
  }
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--report") {
      options.report = true;
      continue;
    }
    require(i + 1 < argc, "{} needs a value", name);
    std::string value = argv[++i];
    std::map<std::string, size_t *> numbers = {{"--tasks", &options.tasks},
                                               {"--random", &options.random},
                                               {"--seeds", &options.seeds},
                                               {"--trials", &options.trials}};
    if (name == "--log")
      options.log = value;
    else if (name == "--seed")
      options.seed = std::stoull(value);
    else if (name == "--minutes")
      options.minutes = std::stod(value);
    else if (name == "--searchers") {
      options.searchers.clear();
      std::stringstream list(value);
      for (std::string searcher; std::getline(list, searcher, ',');)
        options.searchers.push_back(searcher);
    } else {
      require(numbers.contains(name), "unknown option {}; see the head of tune/model/SearchBench.cpp", name);
      *numbers[name] = std::stoull(value);
    }
  }
  require(!options.log.empty(), "expected --log FILE; see the head of tune/model/SearchBench.cpp");
  return options;
}

} // namespace

int main(int argc, char **argv) {
  try {
    registerLowerings();
    run(parse(argc, argv));
    return 0;
  } catch (const std::exception &error) {
    fmt::print(stderr, "search-bench: {}\n", error.what());
    return 2;
  }
}
