// rank-bench: does the cost model order schedules as the machine does? Draws tasks over all families, and for each task
// random legal schedules (small spaces whole), checks every result against the references, times every schedule, and
// counts the pairs whose times differ by more than 5 % that KernelFacts::predict puts in the same order.
//
//   rank-bench [--tasks 40] [--schedules 200] [--seconds 60] [--seed N] [--family NAME] [--json FILE]
//   rank-bench --replay FILE [--json FILE]     predicts again what FILE has the times of
//   --seconds  a task's time, 0.7 of it for compiling: what does not fit is left out and said
//
// One thread. Packed weights come from memory for every run, as in a network; other operands lie where the run before
// left them. The time of a schedule is the least of many runs in turns with the other schedules; a pair has to
// differ in each half of the rounds.
#include "codegen/testing/FactsTesting.h"
#include "codegen/testing/RankTasks.h"
#include "codegen/testing/ScheduleTimer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <set>

using namespace lathe;
using Json = nlohmann::json;

namespace {

constexpr double apart = 1.05; // pairs of times that differ less say nothing

struct Options {
  int64_t tasks = 40, schedules = 200;
  double seconds = 60;
  uint64_t seed = baseSeed();
  std::string family, json, replay;
};

struct Result {
  RankTask task;
  std::vector<TimedSchedule> schedules;
  double legalPoints = 0; // of the space; 0: not known
  int64_t wrong = 0;
};

/// Whether `slow` takes longer by more than `apart`, in each half of the rounds: otherwise noise would be counted.
bool differ(const TimedSchedule &fast, const TimedSchedule &slow) {
  return slow.halves[0] > fast.halves[0] * apart && slow.halves[1] > fast.halves[1] * apart;
}

/// Pairs that differ, and how many of them have the predicted order; equal predictions count half.
struct Ranking {
  int64_t pairs = 0;
  double right = 0;
  double accuracy() const { return right / double(pairs); }
};

Ranking rank(const std::vector<TimedSchedule> &schedules) {
  Ranking ranking;
  for (const TimedSchedule &fast : schedules)
    for (const TimedSchedule &slow : schedules) {
      if (!differ(fast, slow))
        continue;
      ++ranking.pairs;
      double difference = slow.prediction.total() - fast.prediction.total();
      ranking.right += difference > 0 ? 1 : difference == 0 ? 0.5 : 0;
    }
  return ranking;
}

// ---- Schedules ----

/// Every combination of the knobs' values, or nothing if there are more than `most`.
std::vector<Schedule> wholeSpace(const Algorithm &algorithm, const std::vector<Knob> &knobs, size_t most) {
  std::vector<Schedule> all = {emptySchedule(algorithm.name)};
  for (const Knob &knob : knobs) {
    if (all.size() * knob.size() > most)
      return {};
    std::vector<Schedule> next;
    for (const Schedule &schedule : all)
      for (size_t i = 0; i < knob.size(); ++i) {
        next.push_back(schedule);
        knob.apply(next.back(), i);
      }
    all = std::move(next);
  }
  return all;
}

/// Legal schedules without duplicates: each algorithm of the family that can compute the kernel has an equal share.
std::vector<std::string> drawSchedules(Random &random, const KernelFacts &facts, size_t count) {
  std::vector<std::vector<std::string>> spaces;
  for (const Algorithm &algorithm : algorithms()) {
    if (algorithm.family != facts.family)
      continue;
    std::vector<Knob> knobs = facts.knobs(algorithm);
    std::vector<std::string> found;
    for (const Schedule &schedule : wholeSpace(algorithm, knobs, 4 * count))
      if (legal(facts, schedule))
        found.push_back(schedule.str());
    std::set<std::string> drawn;
    for (size_t tries = 0; found.empty() && drawn.size() < count && tries < 200 * count; ++tries) {
      Schedule schedule = emptySchedule(algorithm.name);
      for (const Knob &knob : knobs)
        knob.apply(schedule, random.in(0, int64_t(knob.size()) - 1));
      if (legal(facts, schedule))
        drawn.insert(schedule.str());
      else if (tries > 2000 && drawn.empty())
        break;
    }
    found.insert(found.end(), drawn.begin(), drawn.end());
    std::shuffle(found.begin(), found.end(), random.engine);
    if (!found.empty())
      spaces.push_back(std::move(found));
  }
  std::vector<std::string> result;
  for (size_t at = 0; result.size() < count && !spaces.empty(); ++at) {
    std::erase_if(spaces, [&](const auto &space) { return at >= space.size(); });
    for (const auto &space : spaces)
      if (result.size() < count)
        result.push_back(space[at]);
  }
  return result;
}

// ---- Measuring ----

Result measure(const RankTask &task, const Target &target, Random &random, const Options &options) {
  Result result{task, {}, 0, 0};
  double start = now();
  TaskFacts read(task.text, target);
  std::vector<std::string> schedules = drawSchedules(random, *read.facts, options.schedules);
  KernelUnderTest kernel(task.text, target, 1);
  std::vector<Tensor> inputs = kernel.randomInputs(task.low, task.high);
  ScheduleTimer timer(kernel, inputs, kernel.expected(inputs));
  double compileUntil = start + 0.7 * options.seconds;
  for (const std::string &schedule : schedules) {
    if (now() > compileUntil)
      break;
    if (!timer.add(schedule)) {
      std::fprintf(stderr, "%s: %s: wrong result\n", task.label.c_str(), schedule.c_str());
      ++result.wrong;
    }
  }
  result.schedules = timer.time(std::max(start + options.seconds, now() + options.seconds / 4));
  predict(result.schedules, *read.facts);
  return result;
}

// ---- Output ----

Json toJson(const Result &result) {
  Ranking ranking = rank(result.schedules);
  Json json = {{"task", result.task.label}, {"family", result.task.family}, {"text", result.task.text},
               {"wrong", result.wrong},     {"pairs", ranking.pairs},       {"schedules", toJson(result.schedules)}};
  if (ranking.pairs)
    json["accuracy"] = ranking.accuracy();
  return json;
}

void print(const Result &result) {
  Ranking ranking = rank(result.schedules);
  double fastest = INFINITY, slowest = 0;
  for (const TimedSchedule &one : result.schedules) {
    fastest = std::min(fastest, one.seconds);
    slowest = std::max(slowest, one.seconds);
  }
  std::printf("%-52.52s %4zu schedules %9.1f to %9.1f us  %6ld pairs  %s\n", result.task.label.c_str(),
              result.schedules.size(), fastest * 1e6, slowest * 1e6, long(ranking.pairs),
              ranking.pairs ? fmt::format("{:.3f}", ranking.accuracy()).c_str() : "  -  ");
  std::fflush(stdout);
}

/// Writes what was measured so far.
void write(const std::vector<Result> &results, const Options &options, const Target &target) {
  if (options.json.empty())
    return;
  Json tasks = Json::array();
  for (const Result &result : results)
    tasks.push_back(toJson(result));
  std::ofstream file(options.json);
  file << Json{{"cpu", target.str()}, {"date", int64_t(std::time(nullptr))}, {"seed", options.seed}, {"tasks", tasks}}
              .dump(1);
  require(file.good(), "{}: cannot be written", options.json);
}

/// Mean and least accuracy of the tasks that have pairs.
void summarize(const std::vector<Result> &results) {
  double sum = 0, least = INFINITY;
  int64_t counted = 0, below = 0, wrong = 0, schedules = 0;
  for (const Result &result : results) {
    wrong += result.wrong;
    schedules += int64_t(result.schedules.size());
    Ranking ranking = rank(result.schedules);
    if (ranking.pairs == 0)
      continue;
    ++counted;
    sum += ranking.accuracy();
    least = std::min(least, ranking.accuracy());
    below += ranking.accuracy() < 0.6;
  }
  std::printf("%ld tasks, %ld schedules, %ld wrong results; %ld tasks have pairs that differ by more than 5 %%: mean "
              "%.3f, least %.3f, %ld below 0.6\n",
              long(results.size()), long(schedules), long(wrong), long(counted), counted ? sum / double(counted) : 0,
              counted ? least : 0, long(below));
}

std::vector<Result> replay(const Options &options, const Target &target) {
  std::ifstream file(options.replay);
  require(file.good(), "{}: cannot be read", options.replay);
  std::vector<Result> results;
  Json document = Json::parse(file);
  for (const Json &task : document.at("tasks")) {
    Result result{{task.at("task"), task.at("family"), task.at("text")}, {}, 0, task.at("wrong")};
    TaskFacts read(result.task.text, target);
    result.schedules = timesFrom(task.at("schedules"));
    predict(result.schedules, *read.facts);
    print(result);
    results.push_back(std::move(result));
  }
  return results;
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    require(i + 1 < argc, "{} needs a value", name);
    std::string value = argv[++i];
    if (name == "--tasks")
      options.tasks = std::stoll(value);
    else if (name == "--schedules")
      options.schedules = std::stoll(value);
    else if (name == "--seconds")
      options.seconds = std::stod(value);
    else if (name == "--seed")
      options.seed = std::stoull(value);
    else if (name == "--family")
      options.family = value;
    else if (name == "--json")
      options.json = value;
    else if (name == "--replay")
      options.replay = value;
    else
      fail("unknown option {}; see the head of codegen/testing/RankBench.cpp", name);
  }
  return options;
}

int run(const Options &options) {
  Target target = Target::parse("native");
  std::vector<Result> results;
  if (!options.replay.empty()) {
    results = replay(options, target);
  } else {
    Random random(options.seed);
    std::vector<RankTask> tasks = rankTasks(random, target, options.tasks, options.family);
    std::printf("%s, seed %llu\n", target.str().c_str(), static_cast<unsigned long long>(options.seed));
    double start = now();
    for (size_t i = 0; i < tasks.size(); ++i) {
      results.push_back(measure(tasks[i], target, random, options));
      print(results.back());
      write(results, options, target);
      double left = (now() - start) / double(i + 1) * double(tasks.size() - i - 1);
      std::fprintf(stderr, "task %zu of %zu done, about %.0f min left\n", i + 1, tasks.size(), std::ceil(left / 60));
    }
  }
  write(results, options, target);
  summarize(results);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception &error) {
    fmt::print(stderr, "rank-bench: {}\n", error.what());
    return 2;
  }
}
