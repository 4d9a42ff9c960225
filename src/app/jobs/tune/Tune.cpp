#include "jobs/tune/Tune.h"

#include "jobs/Self.h"
#include "jobs/Terminal.h"
#include "jobs/ops/ProblemLists.h"
#include "jobs/tune/ProcessTrials.h"
#include "jobs/tune/TrialRecords.h"
#include "lab/judging/Turns.h"
#include "support/Text.h"
#include "tune/model/Knowledge.h"

#include <algorithm>
#include <cmath>

namespace lathe::jobs {
namespace {

/// The problems of a job.
std::vector<lab::ListedProblem> problemsOf(const TuneJob &job) {
  if (!job.suites.empty())
    return lab::readProblems(problemLists(job.lists), job.suites);
  lab::ProblemList list;
  for (const std::string &text : job.problems) {
    size_t colon = text.find(':');
    require(colon != std::string::npos, "--problem {}: expected KIND:TEXT, as in `lathe ops bench KIND TEXT`", text);
    lab::ListedProblem entry;
    entry.kind = text.substr(0, colon);
    entry.text = text.substr(colon + 1);
    entry.problem = lab::parseProblem(entry.kind, entry.text);
    entry.count = 1;
    list.add(std::move(entry));
  }
  return list.take();
}

/// Schedules are by default those that no record decides, and streams are tuned after everything else.
TuneJob withoutRecords(TuneJob job) {
  job.model.noRecords = true;
  require(!job.tunesStreams() || job.beside.package.empty(),
          "--streams auto: streams are compared alone, expected no --beside");
  if (job.tunesStreams())
    job.model.streams = "off";
  return job;
}

/// The options of a compilation by default. A program that measures here must know the machine's rates first: they
/// decide default schedules, so rates that become known later would change the schedules that trials are compared with.
CompileOptions defaultOptions(const TuneJob &job, bool measures) {
  if (measures && job.via.empty())
    lab::machineCeilings([](const std::string &line) { say("lathe tune: " + line); });
  return compileOptions(job.model, nullptr);
}

std::unique_ptr<Beside> besideOf(const TuneJob &job) {
  return job.beside.package.empty() ? nullptr : std::make_unique<Beside>(job.beside, job.model.threads);
}

/// "120.0 GFLOPS", or a time for a task without operations.
std::string speedText(const tune::Task &task, double seconds) {
  if (!std::isfinite(seconds))
    return "none passed";
  return task.flops > 0 ? fmt::format("{:.1f} GFLOPS", gflopsOf(task, seconds)) : secondsText(seconds);
}

/// One line about a batch: "3/23 conv ...: 120 GFLOPS, best 131 (65 % of peak); model 12.31 ms (13.20 before), 320
/// trials, 3 failed".
std::string progressText(const std::vector<tune::TaskToTune> &tasks, const tune::TuneState &state,
                         const std::optional<TuneCeilings> &ceilings) {
  const tune::Task &task = tasks[state.task].task;
  std::string peak = ceilings && task.flops > 0 && std::isfinite(state.best)
                         ? fmt::format(" ({:.0f} % of peak)", 100 * gflopsOf(task, state.best) / ceilings->peakGflops())
                         : "";
  return fmt::format("task {}/{} {}: {}, best {}{}; model {} ({} before), {}, {} failed", state.task + 1, tasks.size(),
                     shortened(printable(task.label), 40), speedText(task, state.current), speedText(task, state.best),
                     peak, secondsText(state.modelSeconds), secondsText(state.beforeSeconds),
                     counted(int64_t(state.trials), "trial"), state.failed);
}

class Tuning {
public:
  Tuning(const TuneJob &given, bool measures)
      : job(withoutRecords(given)), tunesStreams(given.tunesStreams()), began(lab::steadySeconds()),
        progress("tune " + job.subject()), compiling(defaultOptions(job, measures)), beside(besideOf(job)),
        recording(job.record, store::ExperimentKind::tune, "tune", job.command, settings()),
        records(recording, job.searcherName(), companyOf(beside.get())),
        package(job.model, compiling, job.budget, beside.get()) {
    if (!job.via.empty())
      recording.elsewhere(job.via, nullptr);
    if (job.hasPackage())
      graph.emplace(job.model, compiling, recording, beside.get());
    if (beside)
      result.company = beside->company();
    result.target = targetOf(compiling).str();
    readTasks();
  }

  TasksToTune tasks() && { return std::move(result); }

  Tuned run(const StartModels &start, const std::function<void(const SearchStart &)> &started) {
    if (job.via.empty())
      result.ceilings =
          TuneCeilings{lab::withPeak(lab::machineCeilings(), compiling.threads, lab::measurePeak(compiling.threads)),
                       compiling.threads};
    constexpr double fastest = 0.5; // share of the predicted time, if the machine's ceilings are unknown
    ProcessTrials trials(measureOptions());
    if (job.budget > 0 && job.hasPackage())
      package.prepare(progress);
    if (graph && job.only.empty())
      decideGraph(trials);
    for (tune::TaskToTune &task : list())
      task.floorSeconds =
          result.ceilings ? result.ceilings->roofline(task.task, 1).limitSeconds : fastest * task.predictedSeconds;
    tune::Knowledge knowledge(start.models);
    readKnowledge(start, knowledge, started);
    search(trials, knowledge);
    bool gained =
        (graph && graph->outcome().kept) || std::any_of(result.results.begin(), result.results.end(),
                                                        [](const tune::TunedTask &task) { return task.gained; });
    if (job.hasPackage())
      finish(gained);
    recording.finish();
    if (!result.any())
      result.ended = "no task can be measured";
    if (graph)
      result.graph = graph->outcome();
    result.counts = trials.counts();
    result.kept = recording.line();
    result.seconds = lab::steadySeconds() - began;
    return std::move(result);
  }

private:
  TuneJob job;
  const bool tunesStreams; // TuneJob::tunesStreams of the given job
  double began;
  Progress progress;
  CompileOptions compiling;
  std::unique_ptr<const Beside> beside; // null: nothing runs beside
  Recording recording;
  TrialRecords records;
  std::optional<GraphTuning> graph; // for a model that runs here
  TunedPackage package;
  Tuned result;

  std::vector<tune::TaskToTune> &list() { return result.list.tasks; }

  nlohmann::json settings() const {
    nlohmann::json settings = {
        {"machine", toJson(targetOf(compiling).machine)}, {"seed", job.search.seed}, {"threads", job.model.threads}};
    if (beside)
      settings["company"] = companyOf(beside.get());
    return settings;
  }

  tune::MeasureOptions measureOptions() const {
    tune::MeasureOptions options;
    options.compiling = nlohmann::json(static_cast<const CompileChoices &>(compiling)).dump();
    options.seed = job.search.seed;
    options.via = job.via;
    options.viaDirectory = job.viaDirectory;
    options.folder = job.model.noCache ? "" : cacheFolderOrSay("tuning");
    if (beside) {
      options.beside = beside->companion();
      options.cpus = beside->measuredCpus();
    }
    return options;
  }

  void search(ProcessTrials &trials, tune::Knowledge &knowledge) {
    double reserved = (job.hasPackage() ? package.reservedSeconds() : 0) + streamSeconds();
    tune::TuneOptions options = job.search;
    options.startModel = [&](size_t task) { return knowledge.modelFor(list()[task].task); };
    if (beside) // six starts of all finalists, each turn with enough runs of the companion and one at each end
      options.settleSeconds =
          std::max(options.settleSeconds, 6.0 * double(options.finalists + 1) * (job.beside.leastRuns + 2) *
                                              beside->companion()->secondsPerRun());
    if (job.budget > 0)
      options.deadline = began + job.budget - reserved;
    tune::Tuner tuner(list(), trials, options, watch(reserved));
    tuner.search();
    result.ended = tuner.endReason();
    result.results = tuner.settle();
    result.chooseSeconds = tuner.chooseSeconds();
  }

  /// `reserved`: seconds after the search.
  tune::TuneWatch watch(double reserved) {
    return {.measured =
                [this](size_t task, const std::vector<tune::Measurement> &measurements) {
                  records.add(list()[task].task, measurements);
                },
            .progress =
                [this, reserved](const tune::TuneState &state) {
                  if (state.begun)
                    result.history.push_back({state.trials, lab::steadySeconds() - began, state.modelSeconds});
                  std::string what = progressText(list(), state, result.ceilings);
                  if (state.secondsLeft)
                    progress.updateUntil(what, *state.secondsLeft + reserved);
                  else
                    progress.update(what, 0, 0);
                },
            .settled =
                [this](size_t task, const tune::TunedTask &tuned) {
                  if (!job.hasPackage()) // otherwise the comparison of the whole model decides
                    recording.add(std::vector{records.of(list()[task].task, tuned)});
                }};
  }

  /// Options that decide the graph like compilations with records.
  CompileOptions withGraph() const {
    CompileOptions options = compiling;
    if (graph)
      options.measured = graph->times();
    return options;
  }

  void readKnowledge(const StartModels &start, tune::Knowledge &knowledge,
                     const std::function<void(const SearchStart &)> &started) {
    std::optional<tune::ModelKind> kind = tune::modelKindOf(job.searcherName());
    if (!kind)
      return;
    progress.update("reading what is known of other tasks", 0, 0);
    if (recording.store())
      knowledge.read(*recording.store(), targetOf(compiling), recording.platformKey(), list(), *kind, job.search.seed,
                     companyOf(beside.get()));
    result.start = {knowledge.tasks(), knowledge.schedules(), {}};
    if (std::any_of(list().begin(), list().end(),
                    [&](const tune::TaskToTune &task) { return start.serves(task.task); }))
      result.start.models = start;
    if (result.start.tasks || result.start.models)
      started(result.start);
  }

  void readTasks() {
    progress.update("reading " + job.subject(), 0, 0);
    result.list = TaskList(lab::measureClock());
    if (job.hasModel())
      result.list.addModel(job.model, withGraph(), job.only);
    else
      result.leftOut = result.list.addProblems(problemsOf(job), compiling);
    require(!list().empty(), "{}: no problem has a kernel: {}", job.subject(), fmt::join(result.leftOut, "; "));
    for (tune::TaskToTune &task : list())
      records.recall(task);
    addShipped(list(), targetOf(compiling).key());
  }

  /// Runs before the search, because the graph determines the tasks.
  void decideGraph(tune::TrialRunner &trials) {
    constexpr double share = 0.2, compared = 8; // of the budget, for measuring; seconds of comparing
    double deadline = job.budget > 0 ? began + share * job.budget : std::numeric_limits<double>::infinity();
    if (graph->decide(trials, deadline, compared, progress))
      readTasks();
  }

  /// Compiles the tuned package, checks it, and compares it with the untuned package. Then writes the kept schedules to
  /// the records.
  void finish(bool gained) {
    constexpr double usual = 30; // seconds of comparing if there is no budget
    std::vector<tune::TunedTask> &tuned = result.results;
    if (gained || job.compare) {
      double left = job.budget > 0 ? began + job.budget - streamSeconds() - lab::steadySeconds() : usual;
      result.whole = package.finish(withGraph(), fasterSchedules(), left, progress);
      result.undone = !result.whole->valid() || (gained && result.whole->gainsNothing());
      for (size_t i = 0; i < tuned.size(); ++i)
        if (result.whole->dropped.contains(list()[i].task.key))
          tuned[i].drop();
    }
    // Keeps all or none: a tuned model without its graph, or the reverse, was never compared.
    std::vector<store::TunedTask> kept = graph->settled(!result.undone);
    for (size_t i = 0; i < tuned.size(); ++i)
      kept.push_back(records.of(list()[i].task, tuned[i], result.undone));
    recording.add(std::move(kept));
    const bool isTuned = gained && !result.undone;
    if (tunesStreams)
      tuneStreams(isTuned);
    if (!job.output.empty())
      writeFile(job.output, readFile(tunesStreams ? result.streams->package : package.path(isTuned)));
  }

  /// The part of the budget that is for streams.
  double streamSeconds() const { return tunesStreams ? 0.3 * job.budget : 0; }

  /// Runs last, because the schedules decide what streams gain.
  void tuneStreams(bool isTuned) {
    constexpr double compared = 8, least = 2; // seconds of comparing one choice
    CompileOptions options =
        withSchedules(isTuned ? withGraph() : compiling, isTuned ? fasterSchedules() : TaskSchedule{});
    tune::MeasureOptions measuring = measureOptions();
    StreamTuning streams(job.model, options, package.path(isTuned), measuring, recording);
    double deadline = job.budget > 0 ? began + job.budget : std::numeric_limits<double>::infinity();
    result.streams =
        streams.run(deadline, job.budget > 0 ? std::clamp(streamSeconds() / 6, least, compared) : compared, progress);
  }

  /// Tasks with the greatest expected gain come first.
  TaskSchedule fasterSchedules() {
    std::vector<std::pair<double, size_t>> gains;
    for (size_t i = 0; i < result.results.size(); ++i)
      if (const tune::TunedTask &task = result.results[i]; task.gained)
        gains.emplace_back(double(list()[i].task.count) * (task.after - task.before), i);
    std::sort(gains.begin(), gains.end());
    TaskSchedule schedules;
    for (auto [gain, i] : gains)
      schedules.emplace_back(list()[i].task.key, result.results[i].schedule);
    return schedules;
  }
};

} // namespace

std::string TuneJob::subject() const {
  return hasModel() ? model.model : problems.empty() ? suites.front() : problems.front();
}

std::string TuneJob::searcherName() const {
  return search.searcher.empty() ? tune::searcherNames().front().first : search.searcher;
}

StartModels TuneJob::startModels() const {
  return startFrom.empty() ? StartModels::shipped(searcherName()) : StartModels::ofFile(startFrom, searcherName());
}

nlohmann::json TasksToTune::document(const TuneJob &job) const {
  return {{"subject", job.subject()}, {"target", target}, {"threads", job.model.threads}};
}

lab::Roofline TuneCeilings::roofline(const tune::Task &task, double seconds) const {
  bool bytes =
      task.key.find("conv_integer") != std::string::npos || task.key.find("matmul_integer") != std::string::npos;
  return lab::roofline(machine, bytes ? ElementType::i8 : ElementType::f32, task.flops, task.bytes, seconds, threads);
}

bool Tuned::any() const {
  return std::any_of(results.begin(), results.end(), [](const tune::TunedTask &task) { return task.declined.empty(); });
}

TasksToTune tasksToTune(const TuneJob &job) { return Tuning(job, false).tasks(); }

ExportedSpace exportSpace(const TuneJob &job, const SpaceOptions &space) {
  TasksToTune tasks = tasksToTune(job);
  std::vector<ExportedKernel> kernels;
  for (const tune::TaskToTune &task : tasks.list.tasks)
    kernels.push_back(exported(task));
  return exportSpaces(tasks.document(job), kernels, space);
}

Tuned tuneTasks(const TuneJob &job, const std::function<void(const SearchStart &)> &started) {
  StartModels start = job.startModels(); // an error comes before any work
  return Tuning(job, true).run(start, started);
}

} // namespace lathe::jobs
