// The flags of `lathe tune`.
#pragma once

#include "cli/flags/BesideFlags.h"
#include "cli/flags/Describe.h"
#include "cli/flags/RunFlags.h"
#include "cli/flags/SpaceFlags.h"
#include "jobs/tune/Tune.h"
#include "jobs/tune/TuneAll.h"
#include "process/ShellWords.h"
#include "support/Text.h"

namespace lathe::cli {

struct TuneFlags {
  TuneJob job;
  SpaceOptions space;
  TuneAllOptions all;
  std::string trainTo;
  bool list = false, evaluate = false;

  bool isAll() const { return !all.list.empty(); }

  void add(Options &options) {
    addModel(options, job.model, ModelUse::tune);
    addSubjects(options);
    addLimits(options);
    addBeside(
        options, job.beside,
        "Run this package without end on other CPUs while schedules and packages are measured; the records are of "
        "kernels in this company");
    options.add_option("--searcher,--tuner", job.search.searcher, searcherHelp())
        ->check(offers(searchers()))
        ->type_name("NAME");
    options
        .add_option("--seed", job.search.seed,
                    "Set the seed of the searcher, of the operands and of what --evaluate-model holds out")
        ->capture_default_str();
    options.add_option("--tasks", job.only, "Tune only tasks with TEXT in their label, nodes or text")
        ->type_name("TEXT");
    options.add_flag("--list-tasks", list,
                     "List the distinct tasks of the model with their share of the time, and end");
    options.add_flag("--evaluate-model", evaluate,
                     "State how well learned cost models order the measured schedules of the store that they were not "
                     "trained on (with MODEL: those of its kernels), and end");
    options.addOutput(
        "--train-model", trainTo,
        "Train the model of --searcher on the measured schedules of the store, write it to FILE (a folder: "
        "to SEARCHER.jsonl.gz in it), and end");
    options
        .add_option(
            "--start-model", job.startFrom,
            "Start searches from the model in FILE (--train-model), where the store knows nothing else (default: "
            "the model that comes with lathe, if there is one for --searcher)")
        ->type_name("FILE");
    addSpace(options, space, "Write the search space of every task and legal points of it as JSON to FILE, and end");
    addRecord(options, job.record, &job.model);
    options.addOutput(
        "-o,--output", job.output,
        "Write the tuned package to FILE; with --all, the table as a page in Markdown (default: neither)");
    options.add_flag("--compare", job.compare, "Print the times of the untuned and the tuned package side by side");
    options.addShowing();
    options.afterParse([this, &options] { check(options); });
  }

  /// The flags given with --all that apply to all models in its list.
  TuneAllOptions forAll(const Arguments &typed) const {
    TuneAllOptions result = all;
    result.common = job.model;
    result.tuneFlags = {"--trials", std::to_string(job.search.trials), "--margin", fmt::format("{}", job.search.margin),
                        "--seed",   std::to_string(job.search.seed)};
    if (job.search.earlyStopping)
      result.tuneFlags.insert(result.tuneFlags.end(), {"--early-stopping", std::to_string(job.search.earlyStopping)});
    if (!job.search.searcher.empty())
      result.tuneFlags.insert(result.tuneFlags.end(), {"--searcher", job.search.searcher});
    if (!job.startFrom.empty())
      result.tuneFlags.insert(result.tuneFlags.end(), {"--start-model", job.startFrom});
    result.budget = job.budget;
    result.store = job.record.file;
    result.page = job.output;
    result.command = "lathe tune " + process::shellCommand(typed);
    return result;
  }

private:
  /// Throws Error for a combination of flags in which one flag has no effect.
  void check(const Options &options) {
    if (evaluate)
      return refuseForEvaluation(options);
    tune::requireSearcher(job.searcherName());
    if (!trainTo.empty())
      return refuseForTraining(options);
    require(job.hasModel() + !job.problems.empty() + !job.suites.empty() + isAll() == 1,
            "expected one of MODEL, --problem, --suite and --all");
    if (!job.hasModel())
      options.refuse({"--shape", "--tasks", "--compare", "--zoo-seed", "--zoo-batch", "--zoo-sequence"},
                     "only a MODEL has it");
    if (isAll())
      options.refuse({"--list-tasks", "--export-space", "--via", "--no-store", "--beside"},
                     "--all measures models here, alone, and keeps their records");
    else
      options.refuse({"--max-seconds", "--again"}, "only --all has it");
    if (!job.hasModel() && !isAll())
      options.refuse({"--output"}, "only a MODEL has it");
    if (job.suites.empty())
      options.refuse({"--problems"}, "only --suite reads a list");
    if (job.via.empty())
      options.refuse({"--via-directory"}, "only --via runs elsewhere");
    else
      options.refuse({"--compare", "--output", "--beside"}, "with --via only kernels run elsewhere, not the model");
    space.seed = job.search.seed;
    if (!space.file.empty())
      options.refuse({"--list-tasks", "--trials", "--budget", "--early-stopping", "--margin", "--searcher", "--compare",
                      "--output", "--json", "--via", "--store", "--no-store", "--start-model", "--beside"},
                     "--export-space measures nothing");
    if (list)
      options.refuse({"--trials", "--budget", "--early-stopping", "--margin", "--searcher", "--seed", "--compare",
                      "--output", "--start-model"},
                     "--list-tasks measures nothing");
  }

  void refuseMeasuring(const Options &options, const std::string &flag) const {
    options.refuse({"--list-tasks",  "--export-space",   "--points", "--problem",     "--suite",   "--problems",
                    "--via",         "--via-directory",  "--all",    "--max-seconds", "--again",   "--trials",
                    "--budget",      "--early-stopping", "--margin", "--tasks",       "--compare", "--output",
                    "--start-model", "--beside"},
                   flag + " measures nothing");
    options.refuse({"--no-store"}, flag + " reads the store");
    options.refuse({"--no-cache"}, flag + " makes no code");
    if (job.hasModel())
      return;
    const std::string reason = flag + " compiles no MODEL here";
    refuseCompileFlags(options, reason);
    options.refuse({"--threads", "--shape", "--zoo-seed", "--zoo-batch", "--zoo-sequence"}, reason);
  }

  void refuseForEvaluation(const Options &options) const {
    options.refuse({"--train-model", "--searcher"}, "--evaluate-model measures nothing");
    refuseMeasuring(options, "--evaluate-model");
    if (job.hasModel())
      options.refuse({"--seed"}, "--evaluate-model MODEL draws nothing at random");
  }

  void refuseForTraining(const Options &options) {
    require(!job.hasModel(), "MODEL {}: --train-model learns from all of the store", job.model.model);
    refuseMeasuring(options, "--train-model");
    std::optional<tune::ModelKind> kind = tune::modelKindOf(job.searcherName());
    require(kind.has_value(), "--searcher {}: it has no model to train", job.searcherName());
    std::error_code ignored;
    if (trainTo.ends_with('/') || std::filesystem::is_directory(trainTo, ignored))
      trainTo = (std::filesystem::path(trainTo) / shippedModelName(*kind)).string();
  }

  void addSubjects(Options &options) {
    options.get_option("MODEL")->required(false);
    options
        .add_option("--problem", job.problems,
                    "Tune single operators instead of a model: KIND:TEXT of `lathe ops bench`")
        ->type_name("KIND:TEXT");
    options
        .add_option("--suite", job.suites,
                    "Tune the problems of a list instead of a model (`lathe ops bench --suite list`)")
        ->type_name("NAME");
    addAll(options);
    options.add_option("--problems", job.lists, "Read the problems of --suite from this CSV list")->type_name("CSV");
    options
        .add_option("--via", job.via,
                    "Measure on the machine that this command reaches, with pipes to it (\"ssh board\"); name its CPU "
                    "by --target")
        ->type_name("COMMAND");
    options.add_option("--via-directory", job.viaDirectory, "Look there for lathe-tune-runner at the other end")
        ->type_name("DIR");
  }

  void addAll(Options &options) {
    options
        .add_option(
            "--all", all.list,
            "Tune these models one after another instead of one model, separated by commas (zoo:resnet50,m.onnx), "
            "and compare each with ONNX Runtime before and after")
        ->type_name("LIST");
    options
        .add_option("--max-seconds", all.maxSeconds,
                    "With --all, time each package beside ONNX Runtime for at most this long, in seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    options.reads([this] {
      std::vector<std::string> files = CLI::detail::split(all.list, ',');
      std::erase_if(files, [](const std::string &name) { return name.starts_with("zoo:"); });
      return files;
    });
    options.add_flag("--again", all.again,
                     "With --all, tune models that an earlier run of the command has finished, too");
  }

  void addLimits(Options &options) {
    options.add_option("--trials", job.search.trials, "Try at most N schedules of each task, earlier runs included")
        ->check(CLI::Range(size_t(1), size_t(1) << 20))
        ->capture_default_str()
        ->type_name("N");
    options
        .add_option("--budget", job.budget,
                    "Search so that this time is enough for the final comparison, too: 90s, 5m, 1h (default: until no "
                    "more is expected to be gained)")
        ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}}))
        ->check(CLI::Range(1.0, 1e7))
        ->type_name("TIME");
    options
        .add_option("--early-stopping", job.search.earlyStopping,
                    "End a task after N schedules without a faster one (default: never)")
        ->type_name("N");
    options
        .add_option("--margin", job.search.margin,
                    "End where one more batch of trials of every task is expected to shorten the model by less than "
                    "this share")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
  }

  static std::vector<std::string> searchers() {
    std::vector<std::string> names;
    for (const auto &[name, summary] : tune::searcherNames())
      names.push_back(name);
    return names;
  }

  static std::string searcherHelp() {
    std::vector<std::string> names = searchers();
    return fmt::format("Search with {} (default: {}; docs/tuning.md says what each does)", lathe::listed(names, "or"),
                       names.front());
  }
};

} // namespace lathe::cli
