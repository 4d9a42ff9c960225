#include "cli/FrontVerbs.h"
#include "cli/flags/RunFlags.h"
#include "cli/print/TopElements.h"
#include "jobs/Packages.h"
#include "jobs/compare/SideParts.h"
#include "runtime/Context.h"
#include "runtime/QuantizedTensor.h"
#include "support/Text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iostream>
#include <numeric>
#include <set>

namespace lathe::cli {
namespace {

nlohmann::json memoryJson(const runtime::MemoryUse &memory, const runtime::Model &package) {
  return {{"constant_bytes", memory.constantBytes}, {"arena_bytes", memory.arenaBytes},
          {"live_bytes", memory.liveBytes},         {"scratch_bytes", memory.scratchBytes},
          {"output_bytes", memory.outputBytes},     {"copied_bytes", memory.copiedBytes},
          {"state_bytes", memory.stateBytes},       {"code_bytes", package.codeBytes()}};
}

/// Results of several runs, stacked along a new first axis. Values whose extents differ between steps, and states, keep
/// only their last value.
class StepResults {
public:
  StepResults(const runtime::Model &package, const std::vector<StatePair> &pairs) : stacked(package.outputs().size()) {
    for (const StatePair &pair : pairs)
      states.insert(pair.output);
  }

  /// Takes the outputs of a step. With a single step, outputs keep their extents.
  void take(const runtime::Context &context, int64_t step, int64_t steps) {
    if (steps == 1)
      return;
    for (size_t i = 0; i < stacked.size(); ++i) {
      if (states.contains(i) || (step > 0 && !stacked[i].defined()))
        continue;
      const Value &value = context.output(i);
      bool fits =
          value.isTensor() && value.tensor().type() != ElementType::string && bitWidth(value.tensor().type()) >= 8;
      if (fits && step == 0) {
        std::vector<int64_t> dims = value.tensor().dims();
        dims.insert(dims.begin(), steps);
        stacked[i] = Tensor(value.tensor().type(), std::move(dims));
      }
      fits = fits && std::equal(stacked[i].dims().begin() + 1, stacked[i].dims().end(), value.tensor().dims().begin(),
                                value.tensor().dims().end());
      if (!fits) {
        stacked[i] = Tensor();
        continue;
      }
      int64_t bytes = value.tensor().bytes();
      if (bytes > 0)
        std::memcpy(static_cast<char *>(stacked[i].data()) + step * bytes, value.tensor().data(),
                    static_cast<size_t>(bytes));
    }
  }

  std::vector<Value> all(const runtime::Context &context) const {
    std::vector<Value> results;
    for (size_t i = 0; i < stacked.size(); ++i)
      results.push_back(stacked[i].defined() ? Value(stacked[i]) : context.output(i));
    return results;
  }

private:
  std::set<size_t> states;
  std::vector<Tensor> stacked; // undefined: only the last value is kept
};

/// Converts outputs that have a scale to the real numbers they stand for. Outputs of several steps have an additional
/// first axis.
void dequantizeAll(std::span<const runtime::Port> ports, std::vector<Value> &results) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].quantization && results[i].isTensor()) {
      Quantization how = *ports[i].quantization;
      how.axis += static_cast<int64_t>(results[i].tensor().rank() - ports[i].dims.size());
      results[i] = dequantized(how, results[i].tensor());
    }
}

/// Runs the model once and returns the seconds.
double timedRun(runtime::Context &context) {
  auto start = std::chrono::steady_clock::now();
  context.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool hasNaN(const Value &value) {
  if (!value.isTensor() || !isFloat(value.tensor().type()))
    return false;
  for (int64_t i = 0; i < value.tensor().elements(); ++i)
    if (std::isnan(value.tensor().asDouble(i)))
      return true;
  return false;
}

/// Integers inside a model cannot hold NaN, so outputs without NaN may hide one.
void warnOfLostNaN(const runtime::Context &context, const std::vector<Value> &values) {
  std::string names;
  for (size_t i = 0; i < values.size(); ++i)
    if (hasNaN(values[i]))
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", printable(context.model().inputs()[i].name));
  for (size_t i = 0; !names.empty() && i < context.model().outputs().size(); ++i)
    if (hasNaN(context.output(i)))
      return;
  if (!names.empty())
    std::cerr << fmt::format("warning: input {} holds NaN, and no output does: the model makes numbers of it, as "
                             "integers inside of quantised models do\n",
                             names);
}

double runOnce(runtime::Context &context, const InputOptions &inputs, const std::vector<std::string> &shapes) {
  std::vector<Value> values = gatherInputs(context.model().inputs(), inputs, shapes);
  for (size_t i = 0; i < values.size(); ++i)
    context.setInput(i, values[i]);
  double seconds = timedRun(context);
  warnOfLostNaN(context, values);
  return seconds;
}

/// Seconds of the steps, each without what sets its inputs.
std::vector<double> runSteps(runtime::Context &context, std::vector<StatePair> pairs, const InputOptions &inputs,
                             const std::vector<std::string> &shapes, int64_t steps, StepResults &results) {
  for (const StatePair &pair : pairs)
    context.keepState(pair.input, pair.output, pair.max);
  StepInputs stepInputs(context.model().inputs(), std::move(pairs), inputs, shapes, steps);
  std::vector<double> seconds;
  for (int64_t step = 0; step < steps; ++step) {
    stepInputs.set(context, step);
    seconds.push_back(timedRun(context));
    results.take(context, step, steps);
  }
  return seconds;
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

void addInputs(Options &options, ModelOptions &model, InputOptions &inputs, StepOptions &stepping) {
  addModel(options, model, ModelUse::run);
  addStore(options, model);
  addLoading(options, model);
  addInputs(options, inputs, "");
  addSteps(options, stepping);
}

void addOutputs(Options &options, const ModelOptions &model, std::string &output, bool &reference, bool &dequantize,
                int64_t &top) {
  options.addOutput("-o,--output", output, outputHelp)->type_name("PATH");
  options.add_flag("--reference", reference, "Run the whole model on the reference operators instead of compiled code");
  options.add_flag("--dequantize", dequantize,
                   "Describe and write outputs that have a scale as the real numbers they stand for");
  addTop(options, top);
  options.addQuiet();
  options.addJson();
  options.afterParse([&] { // callbacks refer to this object, which outlives the options
    if (!reference)
      return;
    options.refuse({"--dequantize"}, "--reference loads no package, which has the scales");
    refuseCompileFlags(options, "--reference compiles nothing");
    options.refuse({"--check-constants"}, "--reference loads no package");
    options.refuse({"--steps", "--state"}, "--reference runs the model once");
  });
}

} // namespace

int runVerb(const Arguments &arguments) {
  ModelOptions model;
  InputOptions inputs;
  StepOptions stepping;
  std::string output;
  int64_t top = 0;
  bool reference = false, dequantize = false;
  Options options(
      "run", "Run a model or a package and describe its outputs.",
      "  lathe run resnet50.lathe -i input=cat.npy -o outputs.npz\n"
      "  lathe run resnet50.onnx --fill random --seed 7\n"
      "  lathe run zoo:resnet18 --fill ones --reference\n"
      "  lathe run zoo:gpt2_small_decoder --steps 64 --state past_*=present_*:max=1024 --state input_ids=next_ids\n"
      "A model is compiled first; the package is kept in ~/.cache/lathe while model, flags and compiler stay the "
      "same.\n");
  addInputs(options, model, inputs, stepping);
  addOutputs(options, model, output, reference, dequantize, top);
  options.parseAll(arguments);
  if (reference)
    return forwardToCompiler("reference", arguments);
  auto requireOutput = [&](size_t count) {
    if (!output.empty())
      requireValuesPath(output, count);
  };
  requireOutput(1);
  auto package = packageFor(model).model;
  if (overrideDefaults(model, unknownInputs(package->inputs(), inputs)))
    package = packageFor(model).model;
  requireOutput(package->outputs().size());
  require(!dequantize ||
              std::ranges::any_of(package->outputs(), [](auto &port) { return port.quantization.has_value(); }),
          "--dequantize: no output of {} has a scale", model.model);
  inputs.variables = variablesOf(package->inputs(), package->outputs());
  runtime::Context context(package, {.threads = model.threads});
  std::vector<StatePair> pairs = statePairs(package->inputs(), package->outputs(), stepping.states);
  StepResults collected(*package, pairs);
  std::vector<double> times = stepping.given()
                                  ? runSteps(context, std::move(pairs), inputs, model.shapes, stepping.steps, collected)
                                  : std::vector{runOnce(context, inputs, model.shapes)};
  std::vector<std::string> names;
  std::vector<Value> results = collected.all(context);
  for (const runtime::Port &port : package->outputs())
    names.push_back(port.name);
  if (dequantize)
    dequantizeAll(package->outputs(), results);
  nlohmann::json json{{"model", model.model},
                      {"run_ms", std::accumulate(times.begin(), times.end(), 0.0) * 1e3},
                      {"peak_rss_bytes", peakResidentBytes()},
                      {"memory", memoryJson(context.memory(), *package)},
                      {"outputs", nlohmann::json::array()}};
  printOutputs(names, results, json, options.printsText());
  if (top)
    printTop(names, results, top, json, options.printsText());
  if (stepping.given())
    describeSteps(times, json, options.printsText());
  if (!output.empty())
    writeValues(output, names, results);
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
