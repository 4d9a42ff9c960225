// How many candidates a minute are measured, where the time goes, and how well a second measurement agrees with the first
// (docs/notes/tuning-measurement.md).
#include "Study.h"

#include "lab/judging/Statistics.h"
#include "tune/Space.h"
#include "tune/model/TaskOfKernel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace lathe::study {
namespace {

struct MeasureStudy {
  int threads = 1;
  size_t schedules = 32, tasks = 8;
  uint64_t seed = 1;
  std::string family, model;
};

/// The prior's schedule and random ones.
std::vector<std::string> schedulesFor(const tune::TaskToTune &task, const MeasureStudy &options) {
  std::vector<std::string> schedules = {task.prior};
  tune::Space space(*task.facts);
  tune::Random random(options.seed);
  std::set<std::string> known(schedules.begin(), schedules.end());
  for (size_t tries = 0; schedules.size() < options.schedules && tries < 4 * options.schedules; ++tries)
    if (auto point = space.draw(random))
      if (std::string schedule = space.schedule(*point).str(); known.insert(schedule).second)
        schedules.push_back(schedule);
  return schedules;
}

/// Relative differences of second measurements to first ones.
struct Agreement {
  std::vector<double> differences;

  void add(const tune::Measurement &first, const tune::Measurement &second) {
    if (first.passed() && second.passed())
      differences.push_back(std::fabs(second.best() / first.best() - 1));
  }
  void print(const char *label) const {
    if (!differences.empty())
      fmt::print("second to first, {}: {} pairs, median {:.2f} %, 95th percentile {:.2f} %\n", label,
                 differences.size(), 100 * lab::median(differences), 100 * lab::percentile(differences, 95));
  }
};

void printTask(const MarkdownTable &table, const std::string &label, const std::vector<tune::Measurement> &measured) {
  std::map<std::string, int> statuses;
  double least = INFINITY;
  for (const tune::Measurement &one : measured) {
    ++statuses[std::string(name(one.status))];
    if (one.passed())
      least = std::min(least, one.best());
    else
      fmt::print(stderr, "{}: {}: {}\n", label, one.schedule, one.reason);
  }
  std::vector<std::string> counts;
  for (auto &[status, count] : statuses)
    counts.push_back(fmt::format("{} {}", count, status));
  table.row({label, fmt::format("{:.1f}", measured.front().best() * 1e6), fmt::format("{:.1f}", least * 1e6),
             fmt::format("{}", fmt::join(counts, " "))});
}

void measureTwice(const MeasureStudy &options) {
  std::vector<ModelKernel> kernels = kernelsOf({options.model}, {options.threads}, options.family);
  tune::Random random(options.seed);
  std::shuffle(kernels.begin(), kernels.end(), random);
  kernels.resize(std::min(kernels.size(), options.tasks));
  tune::Measurer measurer(measureOptions(options.threads));
  Agreement all, repeated;
  MarkdownTable table({"kernel", "prior, us", "best, us", "schedules"});
  for (const ModelKernel &kernel : kernels) {
    Outcome<tune::TaskToTune> task = tune::taskToTune(kernel.task, 1);
    Outcome<bool> prepared = task ? measurer.prepare(task->task) : NotApplicable{task.reason()};
    if (!prepared) {
      table.row({kernel.label, "", "", prepared.reason()});
      continue;
    }
    std::vector<std::string> schedules = schedulesFor(*task, options);
    auto first = measurer.measure(task->task, schedules, 0);
    printTask(table, kernel.label, first);
    auto second = measurer.measure(task->task, schedules, 0);
    for (size_t i = 0; i < first.size(); ++i) {
      all.add(first[i], second[i]);
      if (first[i].seconds.size() > 2 && second[i].seconds.size() > 2)
        repeated.add(first[i], second[i]);
    }
  }
  const tune::MeasureCounts &counts = measurer.counts();
  fmt::print("\n{} trials in {:.1f} s: {:.0f} a minute. Wall seconds: prepare {:.1f}, build {:.1f}, run {:.1f}. "
             "Builders' seconds: generate {:.1f}, LLVM {:.1f}, pack {:.1f}\n",
             counts.trials, counts.seconds(), counts.trialsPerMinute(), counts.prepare, counts.build, counts.run,
             counts.generate, counts.lower, counts.pack);
  all.print("all");
  repeated.print("repeated");
}

} // namespace

void addMeasure(CLI::App &program) {
  static MeasureStudy options;
  CLI::App &command = *program.add_subcommand(
      "measure", "How many candidates a minute are measured, and how well a second measurement agrees with the first: "
                 "the prior's and random schedules of kernels of a model");
  command.add_option("MODEL", options.model, "zoo:NAME or a file, of batch 1")->required();
  command.add_option("--threads", options.threads, "Measure on so many threads");
  command.add_option("--schedules", options.schedules, "Measure so many schedules of a kernel");
  command.add_option("--tasks", options.tasks, "Draw so many kernels");
  command.add_option("--seed", options.seed, "Seed of the kernels and schedules");
  command.add_option("--family", options.family, "Only kernels of this family");
  command.callback([] { measureTwice(options); });
}

} // namespace lathe::study
