#include "tune/measure/Measure.h"

#include "lab/judging/Turns.h"
#include "process/TemporaryDirectory.h"
#include "store/ContentKey.h"
#include "support/CacheFolder.h"
#include "tune/measure/Builders.h"
#include "tune/measure/InTurns.h"

#include <cmath>
#include <filesystem>
#include <unistd.h>

namespace lathe::tune {

namespace fs = std::filesystem;
using nlohmann::json;

/// The program `name` beside this program; tests are in other folders of the build than programs.
static std::string programBeside(const std::string &name) {
  std::error_code ignored;
  fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (auto &directory : {here, here.parent_path() / "bin"})
    if (fs::path program = directory / name; ::access(program.c_str(), X_OK) == 0)
      return program.string();
  fail("the program {} is not beside {}", name, here.string());
}

/// Adds the time of its life to a sum.
struct Stopwatch {
  double &sum;
  double begin = lab::steadySeconds();
  ~Stopwatch() { sum += lab::steadySeconds() - begin; }
};

struct Measurer::State {
  MeasureOptions options;
  MeasureCounts counts;
  std::optional<process::TemporaryDirectory> temporary; // packed constants, and the data if no folder is given
  std::optional<Builders> builders;
  std::optional<RunnerProcess> runner;
  fs::path data;
  std::map<std::string, json> known; // the runner's message for each task, by the prefix of its files

  explicit State(MeasureOptions given) : options(std::move(given)) {}

  std::string temporaryFolder(const char *name) {
    if (!temporary)
      temporary.emplace("tune");
    fs::path folder = temporary->path / name;
    fs::create_directories(folder);
    return folder.string();
  }

  /// The names contain everything that determines operands and expected results.
  TaskFiles filesOf(const Task &task) {
    json content = {task.kernel, task.extents, options.seed};
    return {(dataFolder() / store::documentKey(content)).string(), options.seed};
  }

  /// The folder of all tasks' files. The first call removes files that were not used for long.
  const fs::path &dataFolder() {
    if (data.empty()) {
      data = fs::absolute(options.folder.empty() ? temporaryFolder("data") : options.folder);
      fs::create_directories(data);
      constexpr uintmax_t limit = uintmax_t(8) << 30; // bytes
      pruneOldest(data.string(), limit);
    }
    return data;
  }

  Builders &builderPool() {
    if (!builders)
      builders.emplace(options, options.builder.empty() ? programBeside("lathe-tune-builder") : options.builder,
                       temporaryFolder("packed"));
    return *builders;
  }

  RunnerProcess &runnerProcess() {
    if (!runner)
      runner.emplace(options, options.runner.empty() ? programBeside("lathe-tune-runner") : options.runner);
    return *runner;
  }

  Outcome<bool> prepare(const Task &task) {
    TaskFiles files = filesOf(task);
    if (known.contains(files.prefix))
      return true;
    Stopwatch watch{counts.prepare};
    Outcome<json> message = builderPool().prepare(task, files);
    if (!message)
      return NotApplicable{message.reason()};
    known[files.prefix] = std::move(*message);
    return true;
  }

  void requirePrepared(const Task &task) {
    Outcome<bool> prepared = prepare(task);
    require(prepared.done(), "{} cannot be measured: {}", task.label, prepared ? "" : prepared.reason());
  }

  /// Tells the runner the task of the next candidates.
  void giveRunner(const Task &task) {
    std::string prefix = filesOf(task).prefix;
    runnerProcess().setTask(known.at(prefix), prefix);
  }

  std::vector<Built> build(const Task &task, const std::vector<std::string> &schedules) {
    Stopwatch watch{counts.build};
    constexpr uintmax_t packedBytes = uintmax_t(2) << 30; // kept for later candidates
    pruneOldest(temporaryFolder("packed"), packedBytes);
    std::vector<Built> built = builderPool().build(task, filesOf(task), schedules);
    for (Built &one : built) {
      if (task.order == BatchOrder::images)
        passByImages(one);
      counts.generate += one.generate;
      counts.lower += one.lower;
      counts.pack += one.pack;
      if (one.status == store::PointStatus::passed && options.alterCandidate)
        options.alterCandidate(one.candidate);
    }
    return built;
  }

  static void passByImages(Built &built) {
    if (built.status != store::PointStatus::passed)
      return;
    if (built.candidate.at("images") > 1 && built.candidate.at("stages") == 1) {
      built.candidate["image_by_image"] = true;
      return;
    }
    built.status = store::PointStatus::unimplemented;
    built.reason = "the work items of the schedule do not divide into images";
  }

  static Measurement measurementOf(const std::string &schedule, const Built &built) {
    Measurement measurement;
    measurement.schedule = schedule;
    measurement.status = built.status;
    measurement.reason = built.reason;
    measurement.build = built.seconds;
    return measurement;
  }

  void add(Measurement &measurement, const RunOutcome &outcome) const {
    measurement.inCompany = options.beside != nullptr;
    measurement.status = outcome.status;
    measurement.reason = outcome.reason;
    measurement.seconds = outcome.seconds;
  }

  std::vector<Measurement> measure(const Task &task, const std::vector<std::string> &schedules, double best,
                                   const std::function<void(const Measurement &)> &done) {
    std::vector<Built> built = build(task, schedules);
    Stopwatch watch{counts.run};
    giveRunner(task);
    std::vector<Measurement> measurements;
    for (size_t i = 0; i < schedules.size(); ++i) {
      Measurement measurement = measurementOf(schedules[i], built[i]);
      if (measurement.passed()) {
        double slow = std::isfinite(best) ? options.cut * best : 0; // 0: none
        Stopwatch one{measurement.run};
        add(measurement, runnerProcess().measure(built[i].candidate, slow));
      }
      if (measurement.passed())
        best = std::min(best, measurement.best());
      ++counts.trials;
      if (done)
        done(measurement);
      measurements.push_back(std::move(measurement));
    }
    return measurements;
  }

  std::vector<TurnMeasurement> inTurns(const Task &task, const std::vector<std::string> &schedules, double seconds) {
    std::vector<Built> built = build(task, schedules);
    Stopwatch watch{counts.run};
    giveRunner(task);
    std::vector<TurnMeasurement> measurements;
    std::vector<const json *> candidates;
    for (size_t i = 0; i < schedules.size(); ++i) {
      measurements.push_back({measurementOf(schedules[i], built[i]), {}});
      candidates.push_back(measurements[i].passed() ? &built[i].candidate : nullptr);
    }
    std::vector<TurnOutcome> outcomes = timeInTurns(runnerProcess(), candidates, seconds);
    for (size_t i = 0; i < schedules.size(); ++i) {
      if (candidates[i])
        add(measurements[i], outcomes[i].outcome);
      measurements[i].toFirst = outcomes[i].toFirst;
    }
    return measurements;
  }
};

Measurer::Measurer(MeasureOptions options) : state(std::make_unique<State>(std::move(options))) {}
Measurer::~Measurer() = default;

Outcome<bool> Measurer::prepare(const Task &task) { return state->prepare(task); }

std::vector<Measurement> Measurer::measure(const Task &task, const std::vector<std::string> &schedules, double best,
                                           const std::function<void(const Measurement &)> &done) {
  state->requirePrepared(task);
  return state->measure(task, schedules, best, done);
}

std::vector<TurnMeasurement> Measurer::inTurns(const Task &task, const std::vector<std::string> &schedules,
                                               double seconds) {
  state->requirePrepared(task);
  return state->inTurns(task, schedules, seconds);
}

const MeasureCounts &Measurer::counts() const { return state->counts; }

} // namespace lathe::tune
