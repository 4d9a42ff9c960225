#include "jobs/run/Run.h"

#include "jobs/Packages.h"
#include "jobs/Prepared.h"
#include "jobs/compare/SideParts.h"
#include "runtime/Context.h"
#include "runtime/QuantizedTensor.h"
#include "support/Text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iostream>
#include <set>

namespace lathe::jobs {
namespace {

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

} // namespace

RunResult runModel(RunJob job) {
  auto requireOutput = [&](size_t count) {
    if (!job.output.empty())
      requireValuesPath(job.output, count);
  };
  ModelOptions &model = job.model;
  requireOutput(1);
  auto package = packageFor(model).model;
  if (overrideDefaults(model, unknownInputs(package->inputs(), job.inputs)))
    package = packageFor(model).model;
  std::span<const runtime::Port> ports = package->outputs();
  requireOutput(ports.size());
  require(!job.dequantize || std::ranges::any_of(ports, [](auto &port) { return port.quantization.has_value(); }),
          "--dequantize: no output of {} has a scale", model.model);
  job.inputs.variables = variablesOf(package->inputs(), ports);
  runtime::Context context(package, {.threads = model.threads});
  std::vector<StatePair> pairs = statePairs(package->inputs(), ports, job.stepping.states);
  StepResults collected(*package, pairs);
  RunResult result;
  result.seconds = job.stepping.given()
                       ? runSteps(context, std::move(pairs), job.inputs, model.shapes, job.stepping.steps, collected)
                       : std::vector{runOnce(context, job.inputs, model.shapes)};
  result.outputs = collected.all(context);
  for (const runtime::Port &port : ports)
    result.names.push_back(port.name);
  if (job.dequantize)
    dequantizeAll(ports, result.outputs);
  result.memory = context.memory();
  result.codeBytes = package->codeBytes();
  result.peakBytes = peakResidentBytes();
  if (!job.output.empty())
    writeValues(job.output, result.names, result.outputs);
  return result;
}

} // namespace lathe::jobs
