// `lathe run`: runs a model or a package.
#include "cli/FrontVerbs.h"
#include "cli/flags/RunFlags.h"
#include "cli/print/TopElements.h"
#include "jobs/run/Run.h"

#include <algorithm>
#include <iostream>
#include <numeric>

namespace lathe::cli {
namespace {

struct RunFlags {
  RunJob job;
  int64_t top = 0;
  bool reference = false;

  void add(Options &options) {
    addModel(options, job.model, ModelUse::run);
    addStore(options, job.model);
    addLoading(options, job.model);
    addInputs(options, job.inputs, "");
    addSteps(options, job.stepping);
    options.addOutput("-o,--output", job.output, outputHelp)->type_name("PATH");
    options.add_flag("--reference", reference,
                     "Run the whole model on the reference operators instead of compiled code");
    options.add_flag("--dequantize", job.dequantize,
                     "Describe and write outputs that have a scale as the real numbers they stand for");
    addTop(options, top);
    options.addQuiet();
    options.addJson();
    options.afterParse([this, &options] {
      if (!reference)
        return;
      options.refuse({"--dequantize"}, "--reference loads no package, which has the scales");
      refuseCompileFlags(options, "--reference compiles nothing");
      options.refuse({"--check-constants"}, "--reference loads no package");
      options.refuse({"--steps", "--state"}, "--reference runs the model once");
    });
  }
};

nlohmann::json memoryJson(const RunResult &result) {
  const runtime::MemoryUse &memory = result.memory;
  return {{"constant_bytes", memory.constantBytes}, {"arena_bytes", memory.arenaBytes},
          {"live_bytes", memory.liveBytes},         {"scratch_bytes", memory.scratchBytes},
          {"output_bytes", memory.outputBytes},     {"copied_bytes", memory.copiedBytes},
          {"state_bytes", memory.stateBytes},       {"code_bytes", result.codeBytes}};
}

void describeSteps(const std::vector<double> &times, nlohmann::json &json, bool print) {
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  double seconds = std::accumulate(times.begin(), times.end(), 0.0), median = sorted[sorted.size() / 2];
  double rate = static_cast<double>(times.size()) / seconds;
  if (print)
    std::cout << fmt::format("{} steps in {:.3f} s: {:.3f} ms a step (median), {:.1f} steps a second\n", times.size(),
                             seconds, median * 1e3, rate);
  json["step_ms"] = nlohmann::json::array();
  for (double time : times)
    json["step_ms"].push_back(time * 1e3);
  json["steps_per_second"] = rate;
}

} // namespace

int runVerb(const Arguments &arguments) {
  RunFlags flags;
  Options options(
      "run", "Run a model or a package and describe its outputs.",
      "  lathe run resnet50.lathe -i input=cat.npy -o outputs.npz\n"
      "  lathe run resnet50.onnx --fill random --seed 7\n"
      "  lathe run zoo:resnet18 --fill ones --reference\n"
      "  lathe run zoo:gpt2_small_decoder --steps 64 --state past_*=present_*:max=1024 --state input_ids=next_ids\n"
      "A model is compiled first; the package is kept in ~/.cache/lathe while model, flags and compiler stay the "
      "same.\n");
  flags.add(options);
  options.parseAll(arguments);
  if (flags.reference)
    return forwardToCompiler("reference", arguments);
  RunResult result = runModel(flags.job);
  nlohmann::json json{{"model", flags.job.model.model},
                      {"run_ms", std::accumulate(result.seconds.begin(), result.seconds.end(), 0.0) * 1e3},
                      {"peak_rss_bytes", result.peakBytes},
                      {"memory", memoryJson(result)},
                      {"outputs", nlohmann::json::array()}};
  printOutputs(result.names, result.outputs, json, options.printsText());
  if (flags.top)
    printTop(result.names, result.outputs, flags.top, json, options.printsText());
  if (flags.job.stepping.given())
    describeSteps(result.seconds, json, options.printsText());
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
