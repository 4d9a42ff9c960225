// Whether the schedule that the cost model chooses is as fast as that of the hand rules (docs/notes/prior.md): times both in
// turns for every distinct kernel of models, with the rules' schedules of the other algorithms. Ratios are the rule's time over
// the model's: above 1 the model's schedule is faster.
#include "ScheduleTimer.h"
#include "Study.h"

#include "codegen/cost/BestPrediction.h"
#include "codegen/testing/FactsTesting.h"
#include "lab/judging/Turns.h"
#include "ops/InputBound.h"

#include <algorithm>
#include <cmath>

namespace lathe::study {
namespace {

struct PriorStudy {
  std::vector<int> threads = {1, 2};
  double seconds = 2;
  bool onlyChosen = false;
  std::string family;
  std::vector<std::string> models;
  TimesFiles files;
};

struct Result {
  TimedKernel kernel;
  ScheduleChoice choice;

  double secondsOf(const Schedule &schedule) const {
    for (const TimedSchedule &one : kernel.schedules)
      if (one.schedule == schedule.str())
        return one.seconds;
    return NAN;
  }
  /// The rule's time over the time of the model's schedule; NAN if one was not timed.
  double measured() const { return secondsOf(choice.rule.schedule) / secondsOf(choice.model.schedule); }
  double predicted() const { return choice.rule.cycles / choice.model.cycles; }
  bool differs() const { return choice.model.schedule.str() != choice.rule.schedule.str(); }
};

std::vector<TimedKernel> kernelsToTime(const PriorStudy &options) {
  std::vector<TimedKernel> kernels;
  for (const ModelKernel &one : kernelsOf(options.models, options.threads, options.family)) {
    const std::string &family = one.task.facts->family;
    double bound = inputBound(family);
    kernels.push_back(
        {one.label, family, one.task.text, -bound, bound, one.threads, int64_t(one.task.kernels.size()), 0, {}});
  }
  std::sort(kernels.begin(), kernels.end(), [](const TimedKernel &a, const TimedKernel &b) {
    return std::tie(a.text, a.threads) < std::tie(b.text, b.threads);
  });
  return kernels;
}

/// The schedules to time: the rule's, the model's and those of the other algorithms' rules.
std::vector<std::string> candidatesOf(const ScheduleChoice &choice, const KernelFacts &facts) {
  std::vector<std::string> candidates = {choice.rule.schedule.str()};
  auto add = [&](const Schedule &schedule) {
    if (std::find(candidates.begin(), candidates.end(), schedule.str()) == candidates.end())
      candidates.push_back(schedule.str());
  };
  add(choice.model.schedule);
  for (const PredictedSchedule &other : ruleSchedules(facts, choice.rule))
    add(other.schedule);
  return candidates;
}

/// Returns false for a kernel that has no second candidate or is not asked for.
bool measure(Result &result, const KernelFacts &facts, const Target &target, Operands &operands,
             const PriorStudy &options) {
  std::vector<std::string> candidates = candidatesOf(result.choice, facts);
  if (candidates.size() < 2 || (options.onlyChosen && !result.choice.byModel))
    return false;
  ScheduleTimer timer(result.kernel, target, operands);
  for (const std::string &schedule : candidates)
    timer.add(schedule);
  timer.time(lab::steadySeconds() + options.seconds);
  return true;
}

// ---- Output ----

Json documentOf(const std::vector<Result> &results) {
  Json all = Json::array();
  for (const Result &result : results) {
    all.push_back(toJson(result.kernel));
    all.back().update({{"rule", result.choice.rule.schedule.str()},
                       {"model", result.choice.model.schedule.str()},
                       {"by_model", result.choice.byModel}});
  }
  return all;
}

void printResult(const MarkdownTable &table, const Result &result) {
  table.row({result.kernel.label, std::to_string(result.kernel.kernels), std::to_string(result.kernel.threads),
             fmt::format("{:.1f}", result.secondsOf(result.choice.rule.schedule) * 1e6),
             fmt::format("{:.2f}", result.predicted()), fmt::format("{:.2f}", result.measured()),
             result.choice.byModel ? "yes" : "no", result.choice.rule.schedule.str(),
             result.differs() ? result.choice.model.schedule.str() : "the rule's"});
}

/// Geometric means of ratios, and how many of them are below 0.97.
struct Ratios {
  double predicted = 0, measured = 0, least = INFINITY;
  int64_t count = 0, slower = 0;

  void add(const Result &result) {
    predicted += std::log(result.predicted());
    measured += std::log(result.measured());
    least = std::min(least, result.measured());
    ++count;
    slower += result.measured() < 0.97;
  }
};

void summarize(const std::vector<Result> &results, size_t alone) {
  std::map<std::string, Ratios> all;
  int64_t same = 0, untimed = 0;
  for (const Result &result : results) {
    if (!result.differs()) {
      ++same;
      continue;
    }
    if (std::isnan(result.measured())) {
      ++untimed;
      continue;
    }
    const std::string &from = result.choice.rule.schedule.algorithm, &to = result.choice.model.schedule.algorithm;
    for (const std::string &preferred : {std::string("preferred by the model"), std::string("chosen by the model")})
      if (result.choice.byModel || preferred.starts_with("preferred")) {
        all[preferred].add(result);
        all[preferred + ", " + (from == to ? from : fmt::format("{} to {}", from, to))].add(result);
      }
  }
  fmt::print("\n");
  MarkdownTable table({"schedules", "kernels", "predicted", "measured", "least", "slower by more than 3 %"});
  for (auto &[label, ratios] : all)
    table.row({label, std::to_string(ratios.count),
               fmt::format("{:.3f}", std::exp(ratios.predicted / double(ratios.count))),
               fmt::format("{:.3f}", std::exp(ratios.measured / double(ratios.count))),
               fmt::format("{:.3f}", ratios.least), std::to_string(ratios.slower)});
  fmt::print("\n{} kernels timed; of {} the rule's schedule is the model's, too; {} without a time of the model's "
             "schedule; {} kernels were not timed\n",
             results.size(), same, untimed, alone);
}

void comparePriors(const PriorStudy &options) {
  bool replays = !options.files.replay.empty();
  require(replays || !options.models.empty(), "expected models, for example zoo:resnet50");
  Target target = Target::parse("native");
  Json earlier = replays ? readJson(options.files.replay) : Json();
  size_t alone = replays ? earlier.at("alone").get<size_t>() : 0; // kernels that are not timed
  std::vector<TimedKernel> kernels = replays ? kernelsIn(earlier) : kernelsToTime(options);
  std::vector<Result> results;
  Operands operands;
  fmt::print("{}\n\n", target.str());
  MarkdownTable table({"kernel", "kernels", "threads", "rule, us", "predicted", "measured", "chosen", "rule", "model"});
  Progress progress(kernels.size());
  for (TimedKernel &kernel : kernels) {
    TaskFacts read(kernel.text, target, kernel.threads);
    Result result{std::move(kernel), bestPrediction(*read.facts)};
    if (replays || measure(result, *read.facts, target, operands, options)) {
      predict(result.kernel, *read.facts);
      printResult(table, result);
      results.push_back(std::move(result));
    } else {
      ++alone;
    }
    options.files.write(documentOf(results), target, {{"alone", alone}});
    if (!replays)
      progress.step();
  }
  summarize(results, alone);
}

} // namespace

void addPrior(CLI::App &program) {
  static PriorStudy options;
  CLI::App &command = *program.add_subcommand(
      "prior", "Whether the schedules that the cost model chooses are as fast as those of the hand rules, on every "
               "distinct kernel of models");
  command.add_option("MODEL", options.models, "zoo:NAME or files, of batch 1");
  addList(command, "--threads", options.threads, "Measure on so many threads");
  command.add_option("--seconds", options.seconds, "Time the schedules of a kernel for so long");
  command.add_option("--family", options.family, "Only kernels of this family");
  command.add_flag("--chosen", options.onlyChosen, "Only kernels for which the prior takes the model's schedule");
  options.files.addTo(command);
  command.callback([] { comparePriors(options); });
}

} // namespace lathe::study
