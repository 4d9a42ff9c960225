// Whether the cost model orders schedules as the machine does (docs/notes/predicting.md): draws kernels over all families
// and random legal schedules of each (small spaces whole), and counts the pairs whose times differ by more than 5 % that
// KernelFacts::predict puts in the same order.
#include "RankTasks.h"
#include "ScheduleTimer.h"
#include "Study.h"

#include "codegen/testing/FactsTesting.h"
#include "codegen/testing/RandomTesting.h"
#include "lab/judging/Turns.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace lathe::study {
namespace {

constexpr double apart = 1.05; // pairs of times that differ less say nothing

struct RankStudy {
  int64_t tasks = 40;
  size_t schedules = 200;
  double seconds = 60;
  uint64_t seed = baseSeed();
  std::string family;
  TimesFiles files;
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

Ranking rank(const TimedKernel &kernel) {
  Ranking ranking;
  for (const TimedSchedule &fast : kernel.schedules)
    for (const TimedSchedule &slow : kernel.schedules) {
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

void measure(TimedKernel &kernel, const Target &target, Random &random, const RankStudy &options) {
  double start = lab::steadySeconds(), compileUntil = start + 0.7 * options.seconds;
  TaskFacts read(kernel.text, target);
  std::vector<std::string> schedules = drawSchedules(random, *read.facts, options.schedules);
  Operands operands;
  ScheduleTimer timer(kernel, target, operands);
  for (const std::string &schedule : schedules)
    if (lab::steadySeconds() < compileUntil)
      timer.add(schedule);
  timer.time(std::max(start + options.seconds, lab::steadySeconds() + options.seconds / 4));
}

// ---- Output ----

Json documentOf(const std::vector<TimedKernel> &kernels) {
  Json all = Json::array();
  for (const TimedKernel &kernel : kernels) {
    Ranking ranking = rank(kernel);
    all.push_back(toJson(kernel));
    all.back()["pairs"] = ranking.pairs;
    if (ranking.pairs)
      all.back()["accuracy"] = ranking.accuracy();
  }
  return all;
}

void printKernel(const MarkdownTable &table, const TimedKernel &kernel) {
  Ranking ranking = rank(kernel);
  double fastest = INFINITY, slowest = 0;
  for (const TimedSchedule &one : kernel.schedules) {
    fastest = std::min(fastest, one.seconds);
    slowest = std::max(slowest, one.seconds);
  }
  table.row({kernel.label, std::to_string(kernel.schedules.size()), fmt::format("{:.1f}", fastest * 1e6),
             fmt::format("{:.1f}", slowest * 1e6), std::to_string(ranking.pairs),
             ranking.pairs ? fmt::format("{:.3f}", ranking.accuracy()) : "-"});
}

/// Mean and least accuracy of the kernels that have pairs.
void summarize(const std::vector<TimedKernel> &kernels) {
  double sum = 0, least = INFINITY;
  int64_t counted = 0, below = 0, wrong = 0;
  size_t schedules = 0;
  for (const TimedKernel &kernel : kernels) {
    wrong += kernel.wrong;
    schedules += kernel.schedules.size();
    Ranking ranking = rank(kernel);
    if (ranking.pairs == 0)
      continue;
    ++counted;
    sum += ranking.accuracy();
    least = std::min(least, ranking.accuracy());
    below += ranking.accuracy() < 0.6;
  }
  fmt::print(
      "\n{} tasks, {} schedules, {} wrong results; {} tasks have pairs that differ by more than 5 %: mean {:.3f}, "
      "least {:.3f}, {} below 0.6\n",
      kernels.size(), schedules, wrong, counted, counted ? sum / double(counted) : 0, counted ? least : 0, below);
}

void rankSchedules(const RankStudy &options) {
  Target target = Target::parse("native");
  fmt::print("{}, seed {}\n\n", target.str(), options.seed);
  Random random(options.seed);
  bool replays = !options.files.replay.empty();
  std::vector<TimedKernel> kernels = replays ? kernelsIn(readJson(options.files.replay))
                                             : rankTasks(random, target, options.tasks, options.family),
                           done;
  MarkdownTable table({"kernel", "schedules", "fastest, us", "slowest, us", "pairs", "in order"});
  Progress progress(kernels.size());
  for (TimedKernel &kernel : kernels) {
    if (!replays)
      measure(kernel, target, random, options);
    predict(kernel, *TaskFacts(kernel.text, target).facts);
    printKernel(table, kernel);
    done.push_back(std::move(kernel));
    options.files.write(documentOf(done), target, {{"seed", options.seed}});
    if (!replays)
      progress.step();
  }
  summarize(done);
}

} // namespace

void addRank(CLI::App &program) {
  static RankStudy options;
  CLI::App &command = *program.add_subcommand(
      "rank", "Whether the cost model orders schedules as the machine does: share of the pairs of random schedules in "
              "the predicted order, on one thread");
  command.add_option("--tasks", options.tasks, "Draw so many kernels, each kind once, then at random");
  command.add_option("--schedules", options.schedules, "Draw so many schedules of a kernel");
  command.add_option("--seconds", options.seconds,
                     "Time of a kernel, 0.7 of it for compiling: schedules beyond it are left out");
  command.add_option("--seed", options.seed, "Seed of kernels and schedules");
  command.add_option("--family", options.family, "Only kernels of this family");
  options.files.addTo(command);
  command.callback([] { rankSchedules(options); });
}

} // namespace lathe::study
