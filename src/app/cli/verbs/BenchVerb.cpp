// `lathe bench`: times a package.
#include "cli/FrontVerbs.h"
#include "cli/flags/ResourceFlags.h"
#include "cli/flags/RunFlags.h"
#include "cli/print/measure/BenchPrint.h"

#include <iostream>

namespace lathe::cli {
namespace {

struct BenchFlags {
  BenchJob job;

  void add(Options &options) {
    addModel(options, job.model, ModelUse::run);
    addLoading(options, job.model);
    addInputs(options, job.inputs, "random", false);
    addBatches(options, job.batches);
    addResources(options, job.resources, false);
    HelpSection section(options, "Measuring");
    options
        .add_option("--repetitions", job.repetitions, "Time exactly this many runs instead of using the stopping rule")
        ->check(CLI::PositiveNumber);
    options.add_option("--warm-up", job.warmUp, "Run this many times before timing")->capture_default_str();
    options.add_option("--max-seconds", job.rule.maxSeconds, "Measure for at most this long, in seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    options
        .add_option("--interval", job.rule.relativeHalfWidth,
                    "Stop when half the median's 95 % interval is below this share of the median")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    addRecord(options, job.record, &job.model);
    options.addShowing();
    options.afterParse([this, &options] {
      if (job.repetitions)
        options.refuse({"--max-seconds", "--interval"}, "--repetitions decides how many runs there are");
    });
  }
};

} // namespace

int benchVerb(const Arguments &arguments) {
  BenchFlags flags;
  Options options(
      "bench",
      "Time single runs with bound buffers, layout conversions included, until the median is known well enough.\n"
      "When interrupted, print and keep what was measured.",
      "  lathe bench resnet50.lathe --threads 2\n"
      "  lathe bench zoo:mobilenet_v2 --repetitions 100 --json bench.json\n"
      "  lathe bench model.onnx --batch 8 --max-seconds 30\n"
      "  lathe bench model.onnx --cpus performance+one-per-core --frequency-cap 2GHz\n"
      "  lathe bench model.onnx --batch 1,2,4,8..64               one package, a row for each batch\n"
      "  lathe bench model.onnx --shape x=1x3x224x224 --shape x=1x3x320x320\n");
  flags.add(options);
  options.parseAll(arguments);
  flags.job.command = arguments;
  bool trusted = bench(flags.job, [&](const Bench &measured, bool finished) {
    if (options.printsText())
      std::cout << benchText(measured, flags.job, options.tableStyle());
    options.writeJson(benchJson(measured, flags.job, finished));
    if (!finished)
      std::cout.flush(); // the process ends without destructors
  });
  return trusted ? success : failedVerdict;
}

} // namespace lathe::cli
