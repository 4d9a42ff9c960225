// measure-bench: how many candidates a minute are measured, where the time goes, and how well a second measurement agrees
// with the first. Draws random legal schedules for the distinct kernels of a model.
//
//   measure-bench [--threads 1] [--schedules 32] [--tasks 8] [--seed 1] [--family NAME] MODEL
//   MODEL      zoo:NAME, an ONNX file, or textual IR; of batch 1
//   --tasks    number of kernels, drawn at random
//
// The schedule of the prior is measured with the random ones.
#include "codegen/Task.h"
#include "compile/Compile.h"
#include "compile/ScheduleSource.h"
#include "import/Import.h"
#include "ir/Context.h"
#include "lab/judging/Statistics.h"
#include "tune/Space.h"
#include "tune/measure/Measure.h"
#include "zoo/Zoo.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

using namespace lathe;

namespace {

struct Options {
  int threads = 1;
  size_t schedules = 32, tasks = 8;
  uint64_t seed = 1;
  std::string family, model;
};

struct BenchTask : tune::Task {
  std::vector<std::string> schedules; // the first is the prior's
};

std::string textOf(mlir::func::FuncOp function) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, mlir::OpPrintingFlags().useLocalScope());
  return text;
}

std::vector<std::string> schedulesFor(const KernelFacts &facts, const Options &options) {
  std::vector<std::string> schedules = {priorSchedule(facts)->str()};
  tune::Space space(facts);
  tune::Random random(options.seed);
  std::set<std::string> known(schedules.begin(), schedules.end());
  for (size_t tries = 0; schedules.size() < options.schedules && tries < 4 * options.schedules; ++tries)
    if (auto point = space.draw(random))
      if (std::string schedule = space.schedule(*point).str(); known.insert(schedule).second)
        schedules.push_back(schedule);
  return schedules;
}

std::vector<BenchTask> tasksOf(const Options &options) {
  auto context = makeContext();
  auto module = options.model.starts_with("zoo:") ? buildZoo(*context, options.model.substr(4))
                                                  : importModel(*context, options.model);
  CompileOptions compile;
  compile.threads = options.threads;
  Target target = targetOf(compile);
  lowerToKernels(*module, compile);
  std::vector<BenchTask> tasks;
  std::set<std::string> known;
  for (auto function : module->getOps<mlir::func::FuncOp>()) {
    auto family = function->getAttrOfType<mlir::StringAttr>("nn.family");
    if (!family || (!options.family.empty() && family.getValue() != options.family))
      continue;
    KernelProblem problem{{.threads = options.threads}, function, target};
    auto facts = readFacts(problem);
    BenchTask task;
    task.key = taskOf(problem);
    if (!facts || !known.insert(task.key).second)
      continue;
    task.label = function.getName().str();
    task.kernel = textOf(function);
    task.schedules = schedulesFor(**facts, options);
    tasks.push_back(std::move(task));
  }
  tune::Random random(options.seed);
  std::shuffle(tasks.begin(), tasks.end(), random);
  tasks.resize(std::min(tasks.size(), options.tasks));
  return tasks;
}

/// Relative differences of second measurements to first ones.
struct Agreement {
  std::vector<double> differences;

  void add(const std::vector<tune::Measurement> &first, const std::vector<tune::Measurement> &second) {
    for (size_t i = 0; i < first.size(); ++i)
      if (first[i].passed() && second[i].passed())
        differences.push_back(std::fabs(second[i].best() / first[i].best() - 1));
  }
};

void report(const BenchTask &task, const std::vector<tune::Measurement> &measured) {
  std::map<std::string, int> statuses;
  double least = INFINITY;
  for (const tune::Measurement &one : measured) {
    ++statuses[std::string(name(one.status))];
    if (one.passed())
      least = std::min(least, one.best());
    else
      std::printf("  %s: %s\n", one.schedule.c_str(), one.reason.c_str());
  }
  std::string counts;
  for (auto &[status, count] : statuses)
    counts += fmt::format(" {} {}", count, status);
  std::printf("%-40.40s prior %9.1f us  best %9.1f us %s\n", task.label.c_str(), measured.front().best() * 1e6,
              least * 1e6, counts.c_str());
  std::fflush(stdout);
}

int run(const Options &options) {
  std::vector<BenchTask> tasks = tasksOf(options);
  tune::MeasureOptions given;
  CompileChoices compiling;
  compiling.threads = options.threads;
  given.compiling = nlohmann::json(compiling).dump();
  tune::Measurer measurer(given);
  Agreement all, kept; // kept: both repeated
  for (const BenchTask &task : tasks) {
    if (auto prepared = measurer.prepare(task); !prepared) {
      std::printf("%-40.40s %s\n", task.label.c_str(), prepared.reason().c_str());
      continue;
    }
    auto first = measurer.measure(task, task.schedules, 0);
    report(task, first);
    auto second = measurer.measure(task, task.schedules, 0);
    all.add(first, second);
    for (size_t i = 0; i < first.size(); ++i)
      if (first[i].seconds.size() > 2 && second[i].seconds.size() > 2)
        kept.add({first[i]}, {second[i]});
  }
  const tune::MeasureCounts &counts = measurer.counts();
  std::printf(
      "%ld trials in %.1f s: %.0f a minute. Wall seconds: prepare %.1f, build %.1f, run %.1f. Builders' seconds: "
      "generate %.1f, LLVM %.1f, pack %.1f\n",
      long(counts.trials), counts.seconds(), counts.trialsPerMinute(), counts.prepare, counts.build, counts.run,
      counts.generate, counts.lower, counts.pack);
  for (auto &[label, agreement] : {std::pair<const char *, Agreement &>{"all", all}, {"repeated", kept}})
    if (!agreement.differences.empty())
      std::printf("second to first, %s: %zu pairs, median %.2f %%, 95th percentile %.2f %%\n", label,
                  agreement.differences.size(), 100 * lab::median(agreement.differences),
                  100 * lab::percentile(agreement.differences, 95));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--threads")
      options.threads = std::atoi(value().c_str());
    else if (word == "--schedules")
      options.schedules = size_t(std::atoi(value().c_str()));
    else if (word == "--tasks")
      options.tasks = size_t(std::atoi(value().c_str()));
    else if (word == "--seed")
      options.seed = uint64_t(std::atoll(value().c_str()));
    else if (word == "--family")
      options.family = value();
    else
      options.model = word;
  }
  try {
    lathe::require(!options.model.empty(), "usage: measure-bench [options] MODEL");
    return run(options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
