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
        .add_option(
            "--instances", job.instances,
            "Instead of single runs, time so many contexts that run at the same time and divide the threads, in "
            "turns with a single one: latency of a run and throughput of all together: 2,4 or 2..8 (doubled)")
        ->type_name("N,...");
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
      if (!job.instances.empty())
        options.refuse({"--repetitions", "--warm-up", "--interval"}, "--instances counts runs in windows of time");
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
      "Time single runs with bound buffers, layout conversions included, until the median is known well enough; or\n"
      "several instances that run at the same time (docs/corun.md). Exit code 1 when outputs are mistrusted or "
      "differ.\n"
      "When interrupted, print and keep what was measured.",
      "  lathe bench resnet50.lathe --threads 2\n"
      "  lathe bench zoo:mobilenet_v2 --repetitions 100 --json bench.json\n"
      "  lathe bench model.onnx --batch 8 --max-seconds 30\n"
      "  lathe bench model.onnx --cpus performance+one-per-core --frequency-cap 2GHz\n"
      "  lathe bench model.onnx --threads 4 --instances 2,4           throughput of 2 and of 4 instances\n"
      "  lathe bench model.onnx --batch 1,2,4,8..64               one package, a row for each batch\n"
      "  lathe bench model.onnx --shape x=1x3x224x224 --shape x=1x3x320x320\n");
  flags.add(options);
  options.parseAll(arguments);
  flags.job.command = arguments;
  auto print = [&](const std::string &text, const nlohmann::json &document, bool finished) {
    if (options.printsText())
      std::cout << text;
    options.writeJson(document);
    if (!finished)
      std::cout.flush(); // the process ends without destructors
  };
  const BenchJob &job = flags.job;
  bool trusted = job.instances.empty() ? bench(job,
                                               [&](const Bench &measured, bool finished) {
                                                 print(benchText(measured, job, options.tableStyle()),
                                                       benchJson(measured, job, finished), finished);
                                               })
                                       : benchInstances(job, [&](const InstancesBench &measured, bool finished) {
                                           print(instancesText(measured, job, options.tableStyle()),
                                                 instancesJson(measured, job, finished), finished);
                                         });
  return trusted ? success : failedVerdict;
}

} // namespace lathe::cli
