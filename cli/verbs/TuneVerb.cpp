// `lathe tune`: searches schedules for the kernels of a model by measuring them.
#include "cli/ProblemLists.h"
#include "cli/Self.h"
#include "cli/print/TunePrint.h"
#include "cli/tuning/EvaluateModel.h"
#include "cli/tuning/GraphTuning.h"
#include "cli/tuning/ProcessTrials.h"
#include "cli/tuning/SpaceExport.h"
#include "cli/tuning/TaskList.h"
#include "cli/tuning/TrialRecords.h"
#include "cli/tuning/TunedPackage.h"
#include "lab/judging/Turns.h"
#include "lab/problems/ProblemList.h"
#include "support/Text.h"
#include "tune/model/Knowledge.h"
#include <iostream>

namespace lathe::cli {
namespace {

struct TuneFlags {
  ModelFlags model;
  RecordFlags record;
  tune::TuneOptions tune;
  SpaceFlags space;
  double budget = 0; // seconds; 0: none
  std::string only, output, via, viaDirectory, lists, trainTo, startFrom;
  std::vector<std::string> problems, suites;
  bool list = false, compare = false, evaluate = false;

  bool hasModel() const { return !model.model.empty(); }
  /// "zoo:resnet50", "conv2d:ic64ih56oc64kh3ph1", "networks/resnet50"
  std::string subject() const {
    return hasModel() ? model.model : problems.empty() ? suites.front() : problems.front();
  }

  void add(Options &options) {
    model.add(options, ModelUse::compile);
    addSubjects(options);
    addLimits(options);
    options.add_option("--searcher,--tuner", tune.searcher, searcherHelp())->type_name("NAME");
    options
        .add_option("--seed", tune.seed,
                    "Set the seed of the searcher, of the operands and of what --evaluate-model holds out")
        ->capture_default_str();
    options.add_option("--tasks", only, "Tune only tasks with TEXT in their label, nodes or text")->type_name("TEXT");
    options.add_flag("--list-tasks", list,
                     "List the distinct tasks of the model with their share of the time, and end");
    options.add_flag("--evaluate-model", evaluate,
                     "State how well learned cost models order the measured schedules of the store that they were not "
                     "trained on (with MODEL: those of its kernels), and end");
    options.addOutput(
        "--train-model", trainTo,
        "Train the model of --searcher on the measured schedules of the store, write it to FILE, and end");
    options
        .add_option("--start-model", startFrom,
                    "Start searches from the model in FILE (--train-model), where the store knows nothing else")
        ->type_name("FILE");
    space.add(options, "Write the search space of every task and legal points of it as JSON to FILE, and end");
    record.add(options, &model);
    options.addOutput("-o,--output", output, "Write the tuned package to FILE");
    options.add_flag("--compare", compare, "Print the times of the untuned and the tuned package side by side");
    options.addQuiet();
    options.addWide();
    options.addJson();
    options.afterParse([this, &options] {
      if (evaluate)
        return refuseForEvaluation(options);
      if (!trainTo.empty())
        return refuseForTraining(options);
      require(hasModel() + !problems.empty() + !suites.empty() == 1, "expected one of MODEL, --problem and --suite");
      if (!hasModel())
        options.refuse({"--shape", "--tasks", "--compare", "--output", "--zoo-seed", "--zoo-batch", "--zoo-sequence"},
                       "only a MODEL has it");
      options.refuse({"--no-records"}, "the default schedules are those without records, whatever the store has");
      options.refuse({"--schedule", "--references-only"}, "the search chooses the schedules of kernels");
      if (suites.empty())
        options.refuse({"--problems"}, "only --suite reads a list");
      if (via.empty())
        options.refuse({"--via-directory"}, "only --via runs elsewhere");
      else
        options.refuse({"--compare", "--output"}, "with --via only kernels run elsewhere, not the model");
      space.seed = tune.seed;
      if (!space.file.empty())
        options.refuse({"--list-tasks", "--trials", "--budget", "--early-stopping", "--margin", "--searcher",
                        "--compare", "--output", "--json", "--via", "--store", "--no-store", "--start-model"},
                       "--export-space measures nothing");
      if (list)
        options.refuse({"--trials", "--budget", "--early-stopping", "--margin", "--searcher", "--seed", "--compare",
                        "--output", "--start-model"},
                       "--list-tasks measures nothing");
    });
  }

  /// How every trial is measured.
  nlohmann::json settings(const CompileOptions &compiling) const {
    return {{"machine", toJson(targetOf(compiling).machine)}, {"seed", tune.seed}, {"threads", model.threads}};
  }

  /// The problems of --problem, or of --suite.
  std::vector<lab::ListedProblem> listed() const {
    if (!suites.empty())
      return lab::readProblems(problemLists(lists), suites);
    lab::ProblemList list;
    for (const std::string &text : problems) {
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

  std::string searcherName() const {
    return tune.searcher.empty() ? tune::searcherNames().front().first : tune.searcher;
  }

  /// The models of --start-model. Throws Error if they are not the searcher's.
  tune::TrainedModels startModels() const {
    if (startFrom.empty())
      return {};
    tune::TrainedModels models = tune::readModels(startFrom);
    require(tune::modelKindOf(searcherName()) == models.kind,
            "--start-model {}: it has models of {}, the searcher is {}", startFrom, name(models.kind), searcherName());
    return models;
  }

private:
  void refuseMeasuring(const Options &options, const std::string &flag) const {
    options.refuse({"--list-tasks", "--export-space", "--points", "--problem", "--suite", "--problems", "--via",
                    "--via-directory", "--trials", "--budget", "--early-stopping", "--margin", "--tasks", "--compare",
                    "--output", "--start-model"},
                   flag + " measures nothing");
    options.refuse({"--no-store"}, flag + " reads the store");
    options.refuse({"--no-cache", "--no-records", "--schedule", "--references-only"}, flag + " makes no code");
    if (hasModel())
      return;
    const std::string reason = flag + " compiles no MODEL here";
    model.refuseCompileFlags(reason);
    options.refuse({"--threads", "--shape", "--zoo-seed", "--zoo-batch", "--zoo-sequence"}, reason);
  }

  void refuseForEvaluation(const Options &options) const {
    options.refuse({"--train-model", "--searcher"}, "--evaluate-model measures nothing");
    refuseMeasuring(options, "--evaluate-model");
    if (hasModel())
      options.refuse({"--seed"}, "--evaluate-model MODEL draws nothing at random");
  }

  void refuseForTraining(const Options &options) const {
    require(!hasModel(), "MODEL {}: --train-model learns from all of the store", model.model);
    refuseMeasuring(options, "--train-model");
    require(tune::modelKindOf(searcherName()).has_value(), "--searcher {}: it has no model to train", searcherName());
  }

  void addSubjects(Options &options) {
    options.get_option("MODEL")->required(false);
    options
        .add_option("--problem", problems, "Tune single operators instead of a model: KIND:TEXT of `lathe ops bench`")
        ->type_name("KIND:TEXT");
    options
        .add_option("--suite", suites,
                    "Tune the problems of a list instead of a model (`lathe ops bench --suite list`)")
        ->type_name("NAME");
    options.add_option("--problems", lists, "Read the problems of --suite from this CSV list")->type_name("CSV");
    options
        .add_option("--via", via,
                    "Measure at the other end of a command that passes pipes (\"ssh board\"), for its --target")
        ->type_name("COMMAND");
    options.add_option("--via-directory", viaDirectory, "Look there for lathe-tune-runner at the other end")
        ->type_name("DIR");
  }

  void addLimits(Options &options) {
    options.add_option("--trials", tune.trials, "Try at most N schedules of each task, earlier runs included")
        ->check(CLI::Range(size_t(1), size_t(1) << 20))
        ->capture_default_str()
        ->type_name("N");
    options
        .add_option("--budget", budget,
                    "Search so that this time is enough for the final comparison, too: 90s, 5m, 1h (default: until no "
                    "more is expected to be gained)")
        ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}}))
        ->check(CLI::Range(1.0, 1e7))
        ->type_name("TIME");
    options
        .add_option("--early-stopping", tune.earlyStopping,
                    "End a task after N schedules without a faster one (default: never)")
        ->type_name("N");
    options
        .add_option("--margin", tune.margin,
                    "End where one more batch of trials of every task is expected to shorten the model by less than "
                    "this share")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
  }

  static std::string searcherHelp() {
    std::vector<std::string> names;
    for (const auto &[name, summary] : tune::searcherNames())
      names.push_back(name);
    return fmt::format("Search with {} (default: {}; docs/tuning.md says what each does)", lathe::listed(names, "or"),
                       names.front());
  }
};

tune::MeasureOptions measureOptions(const CompileOptions &compiling, const TuneFlags &flags) {
  tune::MeasureOptions options;
  options.target = compiling.target;
  options.machineText = compiling.machineText;
  options.machineName = compiling.machineName;
  options.threads = compiling.threads;
  options.exactMath = compiling.exactMath;
  options.smallMemory = compiling.smallMemory;
  options.relaxedMath = compiling.level >= 4;
  options.precision = compiling.precision;
  options.seed = flags.tune.seed;
  options.via = flags.via;
  options.viaDirectory = flags.viaDirectory;
  options.folder = flags.model.noCache ? "" : cacheFolderOrSay("tuning");
  return options;
}

/// Time for checking and comparing the whole model, from a budget.
double finalSeconds(double budget) {
  constexpr double share = 0.15, least = 8, most = 30;
  return budget > 0 ? std::clamp(share * budget, least, most) : most;
}

class Tuning {
public:
  Tuning(TuneFlags &flags, Options &options, const Arguments &arguments)
      : flags(flags), options(options), began(lab::steadySeconds()), progress("tune " + flags.subject()),
        compiling(compileOptions(flags.model, nullptr)),
        recording(flags.record, store::ExperimentKind::tune, "tune", arguments, flags.settings(compiling)),
        records(recording, flags.searcherName()), list(lab::measureClock()) {
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
    exportSpaces(std::move(document), kernels, flags.space, options.printsText());
    return success;
  }

  int run() {
    if (flags.via.empty())
      ceilings =
          TuneCeilings{lab::withPeak(lab::machineCeilings(), compiling.threads, lab::measurePeak(compiling.threads)),
                       compiling.threads};
    constexpr double fastest = 0.5; // share of the predicted time, where the machine's ceilings are not known
    ProcessTrials trials(measureOptions(compiling, flags));
    if (graph && flags.only.empty())
      decideGraph(trials);
    for (tune::TaskToTune &task : list.tasks)
      task.floorSeconds = ceilings ? ceilings->limitSeconds(task.task) : fastest * task.predictedSeconds;
    readKnowledge();
    tune::TuneOptions tuneOptions = flags.tune;
    tuneOptions.startModel = [this](size_t task) { return knowledge.modelFor(list.tasks[task].task); };
    if (flags.budget > 0)
      tuneOptions.deadline = began + flags.budget - finalSeconds(flags.budget);
    tune::Tuner tuner(list.tasks, trials, tuneOptions, watch());
    tuner.search();
    ended = tuner.endReason();
    tuned = tuner.settle();
    bool gained = (graph && graph->isKept()) ||
                  std::any_of(tuned.begin(), tuned.end(), [](const tune::TunedTask &task) { return task.gained; });
    if (flags.hasModel() && flags.via.empty() && (gained || flags.compare || !flags.output.empty()))
      finish(gained);
    recording.finish();
    report(trials.counts());
    return success;
  }

private:
  TuneFlags &flags;
  Options &options;
  double began;
  Progress progress;
  CompileOptions compiling; // without records
  Recording recording;
  TrialRecords records;
  std::optional<GraphTuning> graph; // of a model that runs here
  TaskList list;
  tune::Knowledge knowledge{flags.startModels()};
  std::vector<std::string> leftOut; // problems without a task, with reasons
  std::optional<TuneCeilings> ceilings;
  std::vector<tune::TunedTask> tuned;
  std::string ended;
  std::optional<TunedComparison> whole;
  bool undone = false; // the tuned package was slower

  tune::TuneWatch watch() {
    return {
        .measured =
            [this](size_t task, const std::vector<tune::Measurement> &measurements) {
              records.add(list.tasks[task].task, measurements);
            },
        .progress =
            [this](const tune::TuneState &state) {
              std::string what = progressText(list.tasks, state, ceilings);
              if (state.secondsLeft)
                progress.updateUntil(what, *state.secondsLeft);
              else
                progress.update(what, 0, 0);
            },
        .settled = [this](size_t task, const tune::TunedTask &result) { records.add(list.tasks[task].task, result); }};
  }

  /// As compilations with records decide the graph.
  CompileOptions withGraph() const {
    CompileOptions result = compiling;
    if (graph)
      result.measured = graph->times();
    return result;
  }

  nlohmann::json startsFrom() const {
    nlohmann::json json = {{"tasks", knowledge.tasks()}, {"schedules", knowledge.schedules()}};
    if (!flags.startFrom.empty())
      json["file"] = flags.startFrom;
    return json;
  }

  void readKnowledge() {
    std::optional<tune::ModelKind> kind = tune::modelKindOf(flags.searcherName());
    if (!kind || !recording.store())
      return;
    progress.update("reading what is known of other tasks", 0, 0);
    knowledge.read(*recording.store(), targetOf(compiling), recording.platformKey(), list.tasks, *kind,
                   flags.tune.seed);
    if (knowledge.tasks() && options.printsText())
      std::cout << fmt::format("starts from {} of {}\n", counted(int64_t(knowledge.schedules()), "measured schedule"),
                               counted(int64_t(knowledge.tasks()), "other task"))
                << std::flush;
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

  /// Before the search, because the graph says which tasks there are.
  void decideGraph(tune::TrialRunner &trials) {
    constexpr double share = 0.2, compared = 8; // of the budget at most, for measuring; seconds
    double deadline = flags.budget > 0 ? began + share * flags.budget : std::numeric_limits<double>::infinity();
    if (graph->decide(trials, deadline, compared, progress))
      readTasks();
  }

  /// Compiles the tuned package, checks it, and compares it with the untuned one.
  void finish(bool gained) {
    std::map<std::string, std::string> schedules;
    for (size_t i = 0; i < tuned.size(); ++i)
      if (tuned[i].gained)
        schedules[list.tasks[i].task.key] = tuned[i].schedule;
    std::string untuned = (temporaryFolder() / "untuned.lathe").string();
    std::string package = (temporaryFolder() / "tuned.lathe").string();
    progress.update("compiling the model untuned and tuned", 0, 0);
    compileWith(flags.model, compiling, {}, untuned);
    compileWith(flags.model, withGraph(), schedules, package);
    if (gained || flags.compare) {
      progress.update("verifying the tuned model", 0, 0);
      std::string verification = verifyTuned(flags.model, package);
      constexpr double least = 2; // seconds, where the budget is spent
      double left = flags.budget > 0 ? began + flags.budget - lab::steadySeconds() : finalSeconds(0);
      progress.updateUntil("comparing the model untuned and tuned", left);
      whole = compareTuned(flags.model, package, untuned, std::max(left, least));
      whole->verification = std::move(verification);
      undone = whole->slower;
    }
    if (undone) {
      for (size_t i = 0; i < tuned.size(); ++i)
        records.add(list.tasks[i].task, tuned[i], true);
      if (graph)
        graph->undo();
    }
    if (!flags.output.empty())
      writeFile(flags.output, readFile(undone ? untuned : package));
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
                           {"trials", counts.trials},
                           {"build_s", counts.build},
                           {"run_s", counts.run},
                           {"prepare_s", counts.prepare},
                           {"trials_per_minute", counts.trialsPerMinute()},
                           {"undone", undone}};
    if (whole)
      json["comparison"] = whole->comparison;
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
    std::cout << fmt::format("{}; {}, {:.0f} a minute: building {:.0f} s, running {:.0f} s, operands and references "
                             "{:.0f} s; {:.0f} s in all\n",
                             ended, counted(counts.trials, "trial"), counts.trialsPerMinute(), counts.build, counts.run,
                             counts.prepare, lab::steadySeconds() - began);
    if (graph) {
      std::cout << graph->line();
      printWhole();
    }
    std::cout << recording.line() << std::flush;
  }

  void printWhole() const {
    if (!whole) {
      std::cout << "no schedule is faster than the default beyond doubt: nothing changes\n";
      return;
    }
    std::cout << fmt::format("the model: {}; {}\n", whole->speedText(), whole->verification);
    if (undone)
      std::cout << "the tuned model is slower: nothing of it is kept\n";
    if (flags.compare)
      std::cout << whole->sides().str(options.tableStyle());
  }
};

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
                  "  lathe tune model.onnx --target aarch64-linux-gnu,cpu=cortex-a76 --via \"ssh board\"\n"
                  "  lathe tune --evaluate-model --store all.db\n");
  flags.add(options);
  options.parseAll(arguments);
  if (!flags.output.empty())
    requireNoTerminal(flags.output, "a package");
  flags.model.noRecords = true; // the default schedules are those without records
  if (flags.evaluate)
    return evaluateModel(options, flags.model, flags.record.file, flags.tune.seed);
  if (!flags.trainTo.empty())
    return trainModel(options, flags.record.file, *tune::modelKindOf(flags.searcherName()), flags.tune.seed,
                      flags.trainTo);
  Tuning tuning(flags, options, arguments);
  if (!flags.space.file.empty())
    return tuning.exportSpace();
  return flags.list ? tuning.listTasks() : tuning.run();
}

} // namespace lathe::cli
