// prior-bench: is the schedule that the cost model chooses as fast as the one of the hand rules? For every distinct
// kernel of the given models it times both in turns, with the rules' schedules of the other algorithms, and checks every
// result against the references.
//
//   prior-bench [--threads 1,2] [--seconds 2] [--family NAME] [--kernels all] [--json FILE] MODEL...
//   prior-bench --replay FILE [--json FILE]    chooses and predicts again what FILE has the times of
//   MODEL      zoo:NAME, an ONNX file, or textual IR; of batch 1
//   --seconds  the time for timing one kernel
//   --kernels  all, or chosen: only those for which the prior takes the model's schedule
//
// Kernels that are not asked for, or have no other candidate than the rule's schedule, are counted, not timed. How times are taken:
// codegen/testing/ScheduleTimer.h. Ratios are the rule's time over the model's: above 1 the model's schedule is faster.
#include "codegen/cost/BestPrediction.h"
#include "codegen/testing/FactsTesting.h"
#include "codegen/testing/ScheduleTimer.h"
#include "compile/Compile.h"
#include "compile/ScheduleSource.h"
#include "import/Import.h"
#include "ir/Context.h"
#include "zoo/Zoo.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>

using namespace lathe;
using Json = nlohmann::json;

namespace {

struct Options {
  std::vector<int> threads = {1, 2};
  double seconds = 2;
  bool onlyChosen = false;
  std::string family, json, replay;
  std::vector<std::string> models;
};

/// A distinct kernel, planned for a number of threads.
struct Task {
  std::string label, family, text; // "resnet50 conv1": the first kernel of this kind
  int threads = 1;
  int64_t kernels = 1; // in all models
};

struct Result {
  Task task;
  ScheduleChoice choice;
  std::vector<TimedSchedule> times;
  int64_t wrong = 0;

  double secondsOf(const Schedule &schedule) const {
    for (const TimedSchedule &one : times)
      if (one.schedule == schedule.str())
        return one.seconds;
    return NAN;
  }
  /// The rule's time over the time of `schedule`; NAN if one was not timed.
  double measured(const Schedule &schedule) const { return secondsOf(choice.rule.schedule) / secondsOf(schedule); }
  double predicted() const { return choice.rule.cycles / choice.model.cycles; }
  bool differs() const { return choice.model.schedule.str() != choice.rule.schedule.str(); }
};

// ---- Tasks ----

mlir::OwningOpRef<mlir::ModuleOp> load(mlir::MLIRContext &context, const std::string &model) {
  return model.starts_with("zoo:") ? buildZoo(context, model.substr(4)) : importModel(context, model);
}

std::string textOf(mlir::func::FuncOp function) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, mlir::OpPrintingFlags().useLocalScope());
  return text;
}

std::vector<Task> tasksOf(const Options &options) {
  std::vector<Task> tasks;
  std::map<std::string, size_t> known; // by identity and threads
  for (const std::string &model : options.models)
    for (int threads : options.threads) {
      auto context = makeContext();
      auto module = load(*context, model);
      CompileOptions compile;
      compile.threads = threads;
      lowerToKernels(*module, compile);
      for (auto function : module->getOps<mlir::func::FuncOp>()) {
        auto family = function->getAttrOfType<mlir::StringAttr>("nn.family");
        if (!family || (!options.family.empty() && family.getValue() != options.family))
          continue;
        auto [found, added] = known.try_emplace(fmt::format("{}\n{}", threads, kernelIdentity(function)), tasks.size());
        if (added)
          tasks.push_back({fmt::format("{} {}", model.substr(model.rfind(model.starts_with("zoo:") ? ':' : '/') + 1),
                                       function.getName().str()),
                           family.getValue().str(), textOf(function), threads});
        else
          ++tasks[found->second].kernels;
      }
    }
  std::sort(tasks.begin(), tasks.end(),
            [](const Task &a, const Task &b) { return std::tie(a.text, a.threads) < std::tie(b.text, b.threads); });
  return tasks;
}

// ---- Measuring ----

/// The schedules to time: the rule's, the model's and those of the other algorithms' rules.
std::vector<std::string> candidatesOf(const Result &result, const KernelFacts &facts) {
  std::vector<std::string> candidates = {result.choice.rule.schedule.str()};
  auto add = [&](const Schedule &schedule) {
    if (std::find(candidates.begin(), candidates.end(), schedule.str()) == candidates.end())
      candidates.push_back(schedule.str());
  };
  add(result.choice.model.schedule);
  for (const PredictedSchedule &other : ruleSchedules(facts, result.choice.rule))
    add(other.schedule);
  return candidates;
}

/// Inputs and results of the references for tasks of one text, which follow one another.
struct Operands {
  std::string text;
  std::vector<Tensor> inputs, expected;

  void use(KernelUnderTest &kernel, const Task &task) {
    if (text == task.text)
      return;
    text = task.text;
    double bound = inputBound(task.family);
    inputs = kernel.randomInputs(-bound, bound);
    expected = kernel.expected(inputs);
  }
};

/// Nothing for a kernel that has no second candidate or is not asked for.
std::optional<Result> measure(const Task &task, const Target &target, Operands &operands, const Options &options) {
  TaskFacts read(task.text, target, task.threads);
  Result result{task, bestPrediction(*read.facts), {}, 0};
  std::vector<std::string> candidates = candidatesOf(result, *read.facts);
  if (candidates.size() < 2 || (options.onlyChosen && !result.choice.byModel))
    return std::nullopt;
  KernelUnderTest kernel(task.text, target, 1, task.threads);
  operands.use(kernel, task);
  ScheduleTimer timer(kernel, operands.inputs, operands.expected);
  for (const std::string &schedule : candidates)
    if (!timer.add(schedule)) {
      std::fprintf(stderr, "%s: %s: wrong result\n", task.label.c_str(), schedule.c_str());
      ++result.wrong;
    }
  result.times = timer.time(now() + options.seconds);
  predict(result.times, *read.facts);
  return result;
}

// ---- Output ----

Json toJson(const Result &result) {
  return {{"task", result.task.label},
          {"family", result.task.family},
          {"text", result.task.text},
          {"threads", result.task.threads},
          {"kernels", result.task.kernels},
          {"wrong", result.wrong},
          {"rule", result.choice.rule.schedule.str()},
          {"model", result.choice.model.schedule.str()},
          {"by_model", result.choice.byModel},
          {"schedules", toJson(result.times)}};
}

void print(const Result &result) {
  std::printf("%-44.44s x%ld %d  %9.1f us  predicted %5.2f  measured %5.2f %s\n    %s\n    %s\n",
              result.task.label.c_str(), long(result.task.kernels), result.task.threads,
              result.secondsOf(result.choice.rule.schedule) * 1e6, result.predicted(),
              result.measured(result.choice.model.schedule), result.choice.byModel ? "chosen" : "",
              result.choice.rule.schedule.str().c_str(),
              result.differs() ? result.choice.model.schedule.str().c_str() : "the model has nothing better");
  std::fflush(stdout);
}

/// Geometric means of ratios, and how many of them are below 0.97.
struct Ratios {
  double predicted = 0, measured = 0, least = INFINITY;
  int64_t count = 0, slower = 0;

  void add(double predictedRatio, double measuredRatio) {
    predicted += std::log(predictedRatio);
    measured += std::log(measuredRatio);
    least = std::min(least, measuredRatio);
    ++count;
    slower += measuredRatio < 0.97;
  }
  void print(const std::string &label) const {
    std::printf("%-52s %4ld  predicted %6.3f  measured %6.3f, least %5.3f, %ld slower by more than 3 %%\n",
                label.c_str(), long(count), std::exp(predicted / double(count)), std::exp(measured / double(count)),
                least, long(slower));
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
    const ScheduleChoice &choice = result.choice;
    double measured = result.measured(choice.model.schedule);
    if (std::isnan(measured)) {
      ++untimed;
      continue;
    }
    const std::string &from = choice.rule.schedule.algorithm, &to = choice.model.schedule.algorithm;
    std::string which = from == to ? from : fmt::format("{} to {}", from, to);
    for (const std::string &key : {std::string("every schedule that the model prefers"), "  of them " + which})
      all[key].add(result.predicted(), measured);
    if (choice.byModel)
      for (const std::string &key : {std::string("chosen by the model"), "  chosen by the model, " + which})
        all[key].add(result.predicted(), measured);
  }
  for (auto &[label, ratios] : all)
    ratios.print(label);
  std::printf("%zu kernels timed; of %ld the rule's schedule is the model's, too; %ld without a time of the model's "
              "schedule; %zu kernels were not timed\n",
              results.size(), long(same), long(untimed), alone);
}

void write(const std::vector<Result> &results, size_t alone, const Options &options, const Target &target) {
  if (options.json.empty())
    return;
  Json tasks = Json::array();
  for (const Result &result : results)
    tasks.push_back(toJson(result));
  std::ofstream file(options.json);
  file << Json{{"cpu", target.str()}, {"date", int64_t(std::time(nullptr))}, {"alone", alone}, {"tasks", tasks}}.dump(
      1);
  require(file.good(), "{}: cannot be written", options.json);
}

std::vector<Result> replay(const Options &options, const Target &target, size_t &alone) {
  std::ifstream file(options.replay);
  require(file.good(), "{}: cannot be read", options.replay);
  std::vector<Result> results;
  Json document = Json::parse(file);
  alone = document.at("alone");
  for (const Json &task : document.at("tasks")) {
    Result result{{task.at("task"), task.at("family"), task.at("text"), task.at("threads"), task.at("kernels")},
                  {},
                  timesFrom(task.at("schedules")),
                  task.at("wrong")};
    TaskFacts read(result.task.text, target, result.task.threads);
    result.choice = bestPrediction(*read.facts);
    predict(result.times, *read.facts);
    print(result);
    results.push_back(std::move(result));
  }
  return results;
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (!name.starts_with("--")) {
      options.models.push_back(name);
      continue;
    }
    require(i + 1 < argc, "{} needs a value", name);
    std::string value = argv[++i];
    if (name == "--threads") {
      options.threads.clear();
      std::stringstream numbers(value);
      for (std::string number; std::getline(numbers, number, ',');)
        options.threads.push_back(std::stoi(number));
    } else if (name == "--kernels") {
      require(value == "all" || value == "chosen", "--kernels {}: expected all or chosen", value);
      options.onlyChosen = value == "chosen";
    } else if (name == "--seconds")
      options.seconds = std::stod(value);
    else if (name == "--family")
      options.family = value;
    else if (name == "--json")
      options.json = value;
    else if (name == "--replay")
      options.replay = value;
    else
      fail("unknown option {}; see the head of codegen/testing/PriorBench.cpp", name);
  }
  require(!options.models.empty() || !options.replay.empty(), "expected models, for example zoo:resnet50");
  return options;
}

int run(const Options &options) {
  Target target = Target::parse("native");
  std::vector<Result> results;
  size_t alone = 0;
  if (!options.replay.empty()) {
    results = replay(options, target, alone);
  } else {
    std::printf("%s\n", target.str().c_str());
    std::vector<Task> tasks = tasksOf(options);
    Operands operands;
    double start = now();
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (std::optional<Result> result = measure(tasks[i], target, operands, options)) {
        results.push_back(std::move(*result));
        print(results.back());
        write(results, alone, options, target);
      } else {
        ++alone;
      }
      double left = (now() - start) / double(i + 1) * double(tasks.size() - i - 1);
      std::fprintf(stderr, "kernel %zu of %zu done, about %.0f min left\n", i + 1, tasks.size(), std::ceil(left / 60));
    }
  }
  write(results, alone, options, target);
  summarize(results, alone);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception &error) {
    fmt::print(stderr, "prior-bench: {}\n", error.what());
    return 2;
  }
}
