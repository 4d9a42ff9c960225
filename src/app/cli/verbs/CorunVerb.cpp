// `lathe corun`: models that run at the same time.
#include "cli/FrontVerbs.h"
#include "cli/flags/Describe.h"
#include "cli/flags/ResourceFlags.h"
#include "cli/flags/RunFlags.h"
#include "cli/print/measure/CorunPrint.h"

#include <filesystem>
#include <iostream>

namespace lathe::cli {
namespace {

struct CorunFlags {
  CorunJob job;
  std::string processes = "shared";

  void add(Options &options) {
    options
        .add_option(
            "PACKAGE", job.models,
            "Packages of the models, at least two; several packages of one model, such as one tuned in company, are "
            "separated by commas")
        ->required()
        ->type_name("F.lathe");
    options.reads([this] { return files(); });
    addLoading(options, job.loading);
    options.add_option("--seed", job.inputs.seed, "Set the seed of the random inputs")->capture_default_str();
    addPolicy(options);
    addTiming(options);
    addResources(options, job.resources, false);
    addRecord(options, job.record);
    options.addShowing();
    options.afterParse([this, &options] { check(options); });
  }

private:
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const std::string &model : job.models)
      for (const std::string &package : wordsOf(model))
        all.push_back(package);
    if (!job.searches() && job.policy != "equal")
      all.push_back(job.policy);
    return all;
  }

  void addPolicy(Options &options) {
    HelpSection section(options, "Moves");
    options
        .add_option(
            "--policy", job.policy,
            "Divide the slots equally; search moves of which no model gains by another (nash) or that are best for all "
            "(cooperative); or take the moves in a JSON file (docs/corun.md)")
        ->check(offers({"equal", "nash", "cooperative"}))
        ->type_name("equal|nash|cooperative|FILE")
        ->capture_default_str();
    options.add_option("--payoff", job.payoff, "Search for high throughput, or for low latency of a run")
        ->check(CLI::IsMember({"throughput", "latency"}))
        ->capture_default_str();
    options
        .add_option("--weights", job.weights,
                    "Weigh the models' throughputs: a number for each, as 2,1 (default: 1 each)")
        ->type_name("W,...");
    options
        .add_option("--batch", job.batches,
                    "Set the extent of symbolic first dimensions; a search considers several: 1,2,4, 8..64 (doubled) "
                    "or 8..64:8 "
                    "(default: 1)")
        ->type_name("N,...");
    options
        .add_option("--instances", job.instances,
                    "Consider these numbers of contexts of a model that run at the same time")
        ->type_name("N,...")
        ->capture_default_str();
    options
        .add_option("--margin", job.margin, "Count a move as a gain if it raises the payoff by more than this share")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    options
        .add_option("--max-measurements", job.maxMeasurements,
                    "Measure at most this many combinations of moves in a search")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    options.add_flag("--fresh", job.fresh, "Measure everything, also combinations of an interrupted search");
  }

  void addTiming(Options &options) {
    HelpSection section(options, "Measuring");
    options
        .add_option("--processes", processes,
                    "Run the models in one process with a shared pool of threads, or in a process each")
        ->check(CLI::IsMember({"shared", "each"}))
        ->capture_default_str();
    options
        .add_option("--window", job.timing.roundSeconds,
                    "Count runs in windows of this length, longer for slow models, in seconds")
        ->check(CLI::Range(0.001, 60.0))
        ->capture_default_str();
    options
        .add_option("--least-runs", job.timing.leastRuns, "Mistrust a model with fewer runs in the windows of a start")
        ->check(CLI::Range(1, 1000000000))
        ->capture_default_str();
    options
        .add_option("--starts", job.timing.minStarts,
                    "Start the processes at least this often; more starts follow until every slow-down is decided or "
                    "--max-seconds have passed. A search measures each combination in one start")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    options.add_option("--max-seconds", job.timing.maxSeconds, "Time the chosen moves for about this long, in seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
  }

  void check(const Options &options) {
    job.inputs.fill = "random";
    job.timing.processEach = processes == "each";
    job.timing.maxStarts = std::max(job.timing.maxStarts, job.timing.minStarts);
    if (!job.searches())
      options.refuse({"--payoff", "--weights", "--instances", "--margin", "--max-measurements", "--fresh"},
                     "nothing is searched with --policy " + job.policy);
    if (job.payoff == "latency")
      options.refuse({"--weights"}, "--payoff latency looks at the worst model");
  }
};

} // namespace

int corunVerb(const Arguments &arguments) {
  CorunFlags flags;
  Options options(
      "corun",
      "Run models without end at the same time, with the slots (processors) divided among them, and measure each "
      "alone\n"
      "and together with the others, in turns. When interrupted, print and keep what was measured; the same command "
      "goes\n"
      "on with an interrupted search. Exit code 1 when outputs differ in company or a model has too few runs.",
      "  lathe corun a.lathe b.lathe                                  the slots divided equally\n"
      "  lathe corun a.lathe b.lathe --policy nash --weights 2,1      what selfish models would do\n"
      "  lathe corun a.lathe b.lathe --policy cooperative --payoff latency\n"
      "  lathe corun a.lathe b.lathe --policy moves.json --processes each --json corun.json\n"
      "  lathe corun a.lathe,a_in_company.lathe b.lathe --policy nash --batch 1,4\n");
  flags.add(options);
  options.parseAll(arguments);
  flags.job.command = arguments;
  bool trusted = corun(flags.job, [&](const Corun &measured, bool finished) {
    if (options.printsText())
      std::cout << corunText(measured, flags.job, finished, options.tableStyle());
    options.writeJson(corunJson(measured, flags.job, finished));
    if (!finished)
      std::cout.flush(); // the process ends without destructors
  });
  return trusted ? success : failedVerdict;
}

} // namespace lathe::cli
