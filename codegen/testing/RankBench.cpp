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
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RankTasks.h"
#include "ir/Context.h"
#include "ops/Lowerings.h"

#include "mlir/Parser/Parser.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <set>

using namespace lathe;
using Json = nlohmann::json;

namespace {

constexpr double apart = 1.05; // pairs of times that differ less say nothing

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Options {
  int64_t tasks = 40, schedules = 200;
  double seconds = 60;
  uint64_t seed = baseSeed();
  std::string family, json, replay;
};

struct Measured {
  std::string schedule;
  double seconds = 0;        // the least of all runs
  double halves[2] = {0, 0}; // the least of the runs of every other round
  Prediction prediction;
};

struct Result {
  RankTask task;
  std::vector<Measured> schedules;
  double legalPoints = 0; // of the space; 0: not known
  int64_t wrong = 0;
};

/// Whether `slow` takes longer by more than `apart`, in each half of the rounds: otherwise noise would be counted.
bool differ(const Measured &fast, const Measured &slow) {
  return slow.halves[0] > fast.halves[0] * apart && slow.halves[1] > fast.halves[1] * apart;
}

/// Pairs that differ, and how many of them have the predicted order; equal predictions count half.
struct Ranking {
  int64_t pairs = 0;
  double right = 0;
  double accuracy() const { return right / double(pairs); }
};

Ranking rank(const std::vector<Measured> &schedules) {
  Ranking ranking;
  for (const Measured &fast : schedules)
    for (const Measured &slow : schedules) {
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

bool agrees(const std::vector<Tensor> &got, const std::vector<Tensor> &expected, const std::string &schedule) {
  double tolerance = schedule.find("bf16") != std::string::npos ? 3e-2 : 1e-3;
  for (size_t i = 0; i < expected.size(); ++i)
    if (!difference(got[i], expected[i], tolerance).empty())
      return false;
  return true;
}

struct Running {
  std::unique_ptr<KernelUnderTest::Trial> trial;
  Measured measured;
};

/// Compiles and checks the schedules; those that do not fit the time are left out.
std::vector<Running> compile(KernelUnderTest &kernel, const std::vector<std::string> &schedules,
                             const std::vector<Tensor> &inputs, double until, Result &result) {
  std::vector<Tensor> expected = kernel.expected(inputs);
  std::vector<Running> running;
  for (const std::string &schedule : schedules) {
    if (now() > until)
      break;
    Running next;
    next.trial = kernel.trial(inputs, schedule, running.empty() ? nullptr : running.front().trial.get());
    next.measured.schedule = schedule;
    GuardedBuffer scratch(next.trial->scratchBytes(), true);
    next.trial->spoilResults();
    next.trial->call(scratch.data());
    double start = now();
    next.trial->call(scratch.data());
    next.measured.seconds = now() - start;
    if (!agrees(next.trial->results(), expected, schedule)) {
      std::fprintf(stderr, "%s: %s: wrong result\n", result.task.label.c_str(), schedule.c_str());
      ++result.wrong;
    } else {
      running.push_back(std::move(next));
    }
  }
  return running;
}

void time(std::vector<Running> &running, double until) {
  int64_t scratchBytes = 64;
  for (const Running &one : running)
    scratchBytes = std::max(scratchBytes, one.trial->scratchBytes());
  GuardedBuffer scratch(scratchBytes, true);
  constexpr int rounds = 30, calls = 3;
  for (int round = 0; round < rounds && (round < 2 || now() < until); ++round)
    for (Running &one : running) {
      if (round > 5 && one.measured.seconds > 0.05) // slow ones need fewer
        continue;
      for (int call = 0; call < calls; ++call) {
        one.trial->evictPacked();
        double start = now();
        one.trial->call(scratch.data());
        double seconds = now() - start;
        double &least = one.measured.halves[round % 2];
        least = round < 2 && call == 0 ? seconds : std::min(least, seconds);
      }
      one.measured.seconds = round ? std::min(one.measured.halves[0], one.measured.halves[1]) : one.measured.halves[0];
    }
}

/// The facts of a task, and what they refer to.
struct Facts {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<KernelFacts> facts;

  Facts(const std::string &text, const Target &target)
      : module(mlir::parseSourceString<mlir::ModuleOp>(text, context.get())) {
    require(static_cast<bool>(module), "a task cannot be read:\n{}", text);
    auto read = readFacts({*module->getOps<mlir::func::FuncOp>().begin(), target});
    require(read.done(), "a task is declined: {}\n{}", read ? "" : read.reason(), text);
    facts = std::move(*read);
  }
};

Result measure(const RankTask &task, const Target &target, Random &random, const Options &options) {
  Result result{task, {}, 0, 0};
  double start = now();
  Facts read(task.text, target);
  std::vector<std::string> schedules = drawSchedules(random, *read.facts, options.schedules);
  KernelUnderTest kernel(task.text, target, 1);
  std::vector<Tensor> inputs = kernel.randomInputs(task.low, task.high);
  std::vector<Running> running = compile(kernel, schedules, inputs, start + 0.7 * options.seconds, result);
  time(running, std::max(start + options.seconds, now() + options.seconds / 4));
  for (Running &one : running) {
    one.measured.prediction = read.facts->predict(readSchedule(one.measured.schedule));
    result.schedules.push_back(one.measured);
  }
  return result;
}

// ---- Output ----

Json toJson(const Result &result) {
  Json schedules = Json::array();
  for (const Measured &one : result.schedules)
    schedules.push_back({{"schedule", one.schedule},
                         {"seconds", one.seconds},
                         {"halves", {one.halves[0], one.halves[1]}},
                         {"cycles", one.prediction.total()},
                         {"compute", one.prediction.compute},
                         {"levels", one.prediction.levels},
                         {"start", one.prediction.start}});
  Ranking ranking = rank(result.schedules);
  Json json = {{"task", result.task.label}, {"family", result.task.family}, {"text", result.task.text},
               {"wrong", result.wrong},     {"pairs", ranking.pairs},       {"schedules", std::move(schedules)}};
  if (ranking.pairs)
    json["accuracy"] = ranking.accuracy();
  return json;
}

void print(const Result &result) {
  Ranking ranking = rank(result.schedules);
  double fastest = INFINITY, slowest = 0;
  for (const Measured &one : result.schedules) {
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
    Facts read(result.task.text, target);
    for (const Json &one : task.at("schedules")) {
      Measured measured;
      measured.schedule = one.at("schedule");
      measured.seconds = one.at("seconds");
      for (int half = 0; half < 2; ++half)
        measured.halves[half] = one.contains("halves") ? double(one["halves"][half]) : measured.seconds;
      measured.prediction = read.facts->predict(readSchedule(measured.schedule));
      result.schedules.push_back(std::move(measured));
    }
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
  registerLowerings();
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
