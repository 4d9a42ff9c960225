// `lathe tune`: searches schedules for the kernels of a model by measuring them.
#include "cli/CompilerVerbs.h"
#include "cli/flags/StoreFlags.h"
#include "cli/flags/TuneFlags.h"
#include "cli/print/TunePrint.h"
#include "cli/print/TunedModelsPrint.h"
#include "jobs/Self.h"
#include "jobs/Terminal.h"
#include "jobs/tune/EvaluateModel.h"
#include "jobs/tune/GraphTuning.h"
#include "jobs/tune/ProcessTrials.h"
#include "jobs/tune/TaskList.h"
#include "jobs/tune/TrialRecords.h"
#include "jobs/tune/TunedPackage.h"
#include "lab/judging/Turns.h"
#include "support/Text.h"
#include "tune/model/Knowledge.h"

#include <iostream>

namespace lathe::cli {
namespace {

/// The options of a compilation by default. A program that measures here must know the machine's rates first: they
/// decide default schedules, so rates that become known later would change the schedules that trials are compared with.
CompileOptions defaultOptions(const TuneFlags &flags) {
  if (flags.measuresHere())
    lab::machineCeilings([](const std::string &line) { say("lathe tune: " + line); });
  return compileOptions(flags.model, nullptr);
}

class Tuning {
public:
  Tuning(TuneFlags &flags, Options &options, const Arguments &arguments)
      : flags(flags), options(options), began(lab::steadySeconds()), progress("tune " + flags.subject()),
        compiling(defaultOptions(flags)),
        recording(flags.record, store::ExperimentKind::tune, "tune", arguments, flags.settings(compiling)),
        records(recording, flags.searcherName()), list(lab::measureClock()),
        package(flags.model, compiling, flags.budget) {
    if (!flags.via.empty())
      recording.elsewhere(flags.via, nullptr);
    if (flags.hasModel() && flags.via.empty())
      graph.emplace(flags.model, compiling, recording);
    readTasks();
  }

  int listTasks() {
    Table table = listedTasks(list.tasks);
    options.writeJson({{"subject", flags.subject()},
                       {"target", targetOf(compiling).str()},
                       {"threads", flags.model.threads},
                       {"tasks", toJson(table)}});
    if (options.printsText())
      std::cout << table.str(options.tableStyle());
    return success;
  }

  int exportSpace() {
    std::vector<ExportedKernel> kernels;
    for (const tune::TaskToTune &task : list.tasks)
      kernels.push_back(exported(task));
    nlohmann::json document = {
        {"subject", flags.subject()}, {"target", targetOf(compiling).str()}, {"threads", flags.model.threads}};
    std::string line = exportSpaces(std::move(document), kernels, flags.space);
    if (options.printsText())
      std::cout << line;
    return success;
  }

  int run() {
    if (flags.via.empty())
      ceilings =
          TuneCeilings{lab::withPeak(lab::machineCeilings(), compiling.threads, lab::measurePeak(compiling.threads)),
                       compiling.threads};
    constexpr double fastest = 0.5; // share of the predicted time, if the machine's ceilings are unknown
    ProcessTrials trials(measureOptions());
    if (flags.budget > 0 && hasPackage())
      package.prepare(progress);
    if (graph && flags.only.empty())
      decideGraph(trials);
    for (tune::TaskToTune &task : list.tasks)
      task.floorSeconds = ceilings ? ceilings->limitSeconds(task.task) : fastest * task.predictedSeconds;
    readKnowledge();
    tune::TuneOptions tuneOptions = flags.tune;
    tuneOptions.startModel = [this](size_t task) { return knowledge.modelFor(list.tasks[task].task); };
    if (flags.budget > 0)
      tuneOptions.deadline = began + flags.budget - (hasPackage() ? package.reservedSeconds() : 0);
    tune::Tuner tuner(list.tasks, trials, tuneOptions, watch());
    tuner.search();
    ended = tuner.endReason();
    tuned = tuner.settle();
    chooseSeconds = tuner.chooseSeconds();
    bool gained = (graph && graph->isKept()) ||
                  std::any_of(tuned.begin(), tuned.end(), [](const tune::TunedTask &task) { return task.gained; });
    if (hasPackage())
      finish(gained);
    recording.finish();
    bool any =
        std::any_of(tuned.begin(), tuned.end(), [](const tune::TunedTask &task) { return task.declined.empty(); });
    if (!any)
      ended = "no task can be measured";
    report(trials.counts());
    if (!any) {
      sayError("tune", fmt::format("{}: no task can be measured: {}", flags.subject(), tuned.front().declined));
      return failedVerdict;
    }
    if (!whole || whole->valid())
      return success;
    sayError("tune", fmt::format("{}: nothing is kept: {}", flags.subject(), whole->str()));
    return failedVerdict;
  }

private:
  TuneFlags &flags;
  Options &options;
  double began;
  Progress progress;
  CompileOptions compiling; // without records
  Recording recording;
  TrialRecords records;
  std::optional<GraphTuning> graph; // for a model that runs here
  TaskList list;
  StartModels start = flags.startModels();
  tune::Knowledge knowledge{start.models};
  TunedPackage package;
  std::vector<std::string> leftOut; // problems without a task, with reasons
  std::optional<TuneCeilings> ceilings;
  std::vector<tune::TunedTask> tuned;
  std::string ended;
  double chooseSeconds = 0;
  nlohmann::json history = nlohmann::json::array(); // one entry after every batch of the search
  std::optional<TunedOutcome> whole;
  bool undone = false; // the tuned package was dropped

  tune::MeasureOptions measureOptions() const {
    tune::MeasureOptions result;
    result.compiling = nlohmann::json(static_cast<const CompileChoices &>(compiling)).dump();
    result.seed = flags.tune.seed;
    result.via = flags.via;
    result.viaDirectory = flags.viaDirectory;
    result.folder = flags.model.noCache ? "" : cacheFolderOrSay("tuning");
    return result;
  }

  tune::TuneWatch watch() {
    return {.measured =
                [this](size_t task, const std::vector<tune::Measurement> &measurements) {
                  records.add(list.tasks[task].task, measurements);
                },
            .progress =
                [this](const tune::TuneState &state) {
                  if (state.begun)
                    history.push_back({{"trials", state.trials},
                                       {"seconds", lab::steadySeconds() - began},
                                       {"expected_ms", state.modelSeconds * 1e3}});
                  std::string what = progressText(list.tasks, state, ceilings);
                  if (state.secondsLeft)
                    progress.updateUntil(what, *state.secondsLeft + (hasPackage() ? package.reservedSeconds() : 0));
                  else
                    progress.update(what, 0, 0);
                },
            .settled =
                [this](size_t task, const tune::TunedTask &result) {
                  if (!hasPackage()) // otherwise the comparison of the whole model decides
                    recording.add(std::vector{records.of(list.tasks[task].task, result)});
                }};
  }

  /// Options that decide the graph like compilations with records.
  CompileOptions withGraph() const {
    CompileOptions result = compiling;
    if (graph)
      result.measured = graph->times();
    return result;
  }

  nlohmann::json startsFrom() const {
    nlohmann::json json = {{"tasks", knowledge.tasks()}, {"schedules", knowledge.schedules()}};
    if (usesStart())
      json["file"] = start.file;
    return json;
  }

  /// True if a task has a family of the start's models.
  bool usesStart() const {
    return std::any_of(list.tasks.begin(), list.tasks.end(),
                       [&](const tune::TaskToTune &task) { return start.serves(task.task); });
  }

  void readKnowledge() {
    std::optional<tune::ModelKind> kind = tune::modelKindOf(flags.searcherName());
    if (!kind)
      return;
    progress.update("reading what is known of other tasks", 0, 0);
    if (recording.store())
      knowledge.read(*recording.store(), targetOf(compiling), recording.platformKey(), list.tasks, *kind,
                     flags.tune.seed);
    std::vector<std::string> sources;
    if (knowledge.tasks())
      sources.push_back(fmt::format("{} of {}", counted(int64_t(knowledge.schedules()), "measured schedule"),
                                    counted(int64_t(knowledge.tasks()), "other task")));
    if (usesStart())
      sources.push_back(start.str());
    if (!sources.empty() && options.printsText())
      std::cout << fmt::format("starts from {}\n", listed(sources)) << std::flush;
  }

  void readTasks() {
    progress.update("reading " + flags.subject(), 0, 0);
    list = TaskList(lab::measureClock());
    if (flags.hasModel())
      list.addModel(flags.model, withGraph(), flags.only);
    else
      leftOut = list.addProblems(flags.listed(), compiling);
    require(!list.tasks.empty(), "{}: no problem has a kernel: {}", flags.subject(), fmt::join(leftOut, "; "));
    for (tune::TaskToTune &task : list.tasks)
      records.recall(task);
    addShipped(list.tasks, targetOf(compiling).key());
  }

  /// Runs before the search, because the graph determines the tasks.
  void decideGraph(tune::TrialRunner &trials) {
    constexpr double share = 0.2, compared = 8; // of the budget, for measuring; seconds of comparing
    double deadline = flags.budget > 0 ? began + share * flags.budget : std::numeric_limits<double>::infinity();
    if (graph->decide(trials, deadline, compared, progress))
      readTasks();
  }

  /// A model that is measured here has a package.
  bool hasPackage() const { return flags.hasModel() && flags.via.empty(); }

  /// Compiles the tuned package, checks it, and compares it with the untuned package. Then writes the kept schedules to
  /// the records.
  void finish(bool gained) {
    constexpr double usual = 30; // seconds of comparing if there is no budget
    if (gained || flags.compare) {
      double left = flags.budget > 0 ? began + flags.budget - lab::steadySeconds() : usual;
      whole = package.finish(withGraph(), fasterSchedules(), left, progress);
      undone = !whole->valid() || (gained && whole->gainsNothing());
      for (size_t i = 0; i < tuned.size(); ++i)
        if (whole->dropped.contains(list.tasks[i].task.key))
          tuned[i].drop();
    }
    // Keeps all or none: a tuned model without its graph, or the reverse, was never compared.
    std::vector<store::TunedTask> kept = graph->settled(!undone);
    for (size_t i = 0; i < tuned.size(); ++i)
      kept.push_back(records.of(list.tasks[i].task, tuned[i], undone));
    recording.add(std::move(kept));
    if (!flags.output.empty())
      package.write(flags.output, gained && !undone);
  }

  /// Tasks with the greatest expected gain come first.
  TaskSchedule fasterSchedules() const {
    std::vector<std::pair<double, size_t>> gains;
    for (size_t i = 0; i < tuned.size(); ++i)
      if (tuned[i].gained)
        gains.emplace_back(double(list.tasks[i].task.count) * (tuned[i].after - tuned[i].before), i);
    std::sort(gains.begin(), gains.end());
    TaskSchedule schedules;
    for (auto [gain, i] : gains)
      schedules.emplace_back(list.tasks[i].task.key, tuned[i].schedule);
    return schedules;
  }

  void report(const tune::MeasureCounts &counts) {
    Table table = tunedTasks(list.tasks, tuned, ceilings);
    nlohmann::json json = {{"subject", flags.subject()},
                           {"target", targetOf(compiling).str()},
                           {"threads", flags.model.threads},
                           {"searcher", flags.searcherName()},
                           {"starts_from", startsFrom()},
                           {"seconds", lab::steadySeconds() - began},
                           {"ended", ended},
                           {"tasks", toJson(table)},
                           {"history", history},
                           {"trials", counts.trials},
                           {"failed_trials", failedTrials()},
                           {"build_s", counts.build},
                           {"run_s", counts.run},
                           {"choose_s", chooseSeconds},
                           {"prepare_s", counts.prepare},
                           {"trials_per_minute", counts.trialsPerMinute()},
                           {"undone", undone}};
    if (whole) {
      json["verification"] = whole->check.text;
      json["comparison"] = whole->comparison ? whole->comparison->comparison : nlohmann::json();
      json["dropped"] = whole->dropped;
      if (whole->withAll)
        json["comparison_with_all"] = whole->withAll->comparison;
    }
    if (graph)
      json["graph"] = graph->json();
    options.writeJson(json);
    if (!options.printsText())
      return;
    std::cout << table.str(options.tableStyle());
    for (const std::string &reason : leftOut)
      std::cout << fmt::format("not tuned: {}\n", printable(reason));
    for (size_t i = 0; i < tuned.size(); ++i)
      if (!tuned[i].declined.empty())
        std::cout << fmt::format("task {} was not tuned: {}\n", i + 1, printable(tuned[i].declined));
    std::cout << fmt::format(
        "{}; {}, {:.0f} a minute: building {:.0f} s, running {:.0f} s, choosing {:.0f} s, operands "
        "and references {:.0f} s; {:.0f} s in all\n",
        ended, counted(counts.trials, "trial"), counts.trialsPerMinute(), counts.build, counts.run, chooseSeconds,
        counts.prepare, lab::steadySeconds() - began);
    if (graph) {
      std::cout << graph->line();
      printWhole();
    }
    std::cout << recording.line() << std::flush;
  }

  size_t failedTrials() const {
    size_t all = 0;
    for (const tune::TunedTask &task : tuned)
      for (auto &[status, count] : task.failures)
        all += count;
    return all;
  }

  void printWhole() const {
    if (!whole) {
      std::cout << "no schedule is faster than the default beyond doubt: nothing changes\n";
      return;
    }
    if (whole->withAll)
      std::cout << fmt::format(
          "the model with all faster schedules: {}\n{} inside the model: not kept\n", whole->withAll->speedText(),
          counted(int64_t(whole->dropped.size()), "schedule gains nothing", "schedules gain nothing"));
    std::cout << fmt::format("the model: {}\n", whole->str());
    if (whole->valid() && undone)
      std::cout << "the tuned model is not faster: nothing of it is kept\n";
    if (flags.compare && whole->valid())
      std::cout << whole->comparison->sides().str(options.tableStyle());
  }
};

int tuneModels(const TuneAllOptions &all, const Options &options) {
  TunedAll tuned = tuneAll(all, [&](auto &&...finished) {
    if (options.printsText())
      std::cout << finishedText(finished...) << std::flush;
  });
  if (options.printsText())
    std::cout << tunedModelsText(tuned, options.tableStyle()) << std::flush;
  options.writeJson(tunedModelsJson(all, tuned));
  if (!all.page.empty())
    writeFile(all.page, tunedModelsPage(all, tuned));
  return tuned.failed ? failedVerdict : success;
}

int evaluate(const TuneFlags &flags, const Options &options) {
  store::Store store = StoreFlags{flags.record.file}.open();
  ModelEvaluation found = evaluateModel(store, flags.model, flags.tune.seed);
  options.writeJson({{"store", store.path()},
                     {"measured_tasks", found.tasks},
                     {"measured_schedules", found.schedules},
                     {"models", toJson(found.models)}});
  if (options.printsText())
    std::cout << fmt::format("{} of {}\n{}", counted(int64_t(found.schedules), "measured schedule"),
                             counted(int64_t(found.tasks), "task"), found.models.str(options.tableStyle()));
  return success;
}

int train(const TuneFlags &flags, const Options &options) {
  store::Store store = StoreFlags{flags.record.file}.open();
  tune::ModelKind kind = *tune::modelKindOf(flags.searcherName());
  std::vector<std::string> families = trainModel(store, kind, flags.tune.seed, flags.trainTo);
  options.writeJson({{"file", flags.trainTo}, {"model", name(kind)}, {"families", families}});
  if (options.printsText())
    std::cout << fmt::format("{}: {} for {}\n", flags.trainTo, name(kind), listed(families));
  return success;
}

} // namespace

int tuneVerb(const Arguments &arguments) {
  TuneFlags flags;
  Options options("tune",
                  "Search schedules for the kernels of a model by measuring them on this machine. Every candidate is\n"
                  "checked against the reference; one is kept only where it is measurably faster than the default.",
                  "  lathe tune resnet50.onnx --threads 2 --budget 5m\n"
                  "  lathe tune zoo:mobilenet_v2 --list-tasks\n"
                  "  lathe tune model.onnx --trials 64 --searcher random --compare\n"
                  "  lathe tune --problem conv2d:ic64ih56oc64kh3ph1 --threads 2\n"
                  "  lathe tune --all zoo:resnet18,zoo:mobilenet_v2,model.onnx --budget 10m -o table.md\n"
                  "  lathe tune model.onnx --target aarch64-linux-gnu,cpu=cortex-a76 --via \"ssh board\"\n"
                  "  lathe tune --evaluate-model --store all.db\n");
  flags.add(options);
  options.parseAll(arguments);
  if (flags.isAll()) {
    ::unsetenv(noRecordsVariable); // the records are what is measured
    flags.startModels();           // says now, and once, what is wrong with them
    return tuneModels(flags.forAll(arguments), options);
  }
  if (!flags.output.empty())
    requireNoTerminal(flags.output, "a package");
  flags.model.noRecords = true; // default schedules ignore records
  if (flags.evaluate)
    return evaluate(flags, options);
  if (!flags.trainTo.empty())
    return train(flags, options);
  Tuning tuning(flags, options, arguments);
  if (!flags.space.file.empty())
    return tuning.exportSpace();
  return flags.list ? tuning.listTasks() : tuning.run();
}

} // namespace lathe::cli
