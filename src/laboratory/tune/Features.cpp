#include "tune/Features.h"

#include "codegen/cost/BestPrediction.h"
#include "codegen/cost/Cost.h"
#include "tune/NestFeatures.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::tune {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Logarithm to base 2 of an amount; NaN for 0.
double magnitude(double amount) { return amount > 0 ? std::log2(amount) : none; }

// ---- The problem and the machine ----

struct ProblemFeature {
  const char *name;
  double (*value)(const KernelFacts &);
};

double bytes(const std::vector<TensorFacts> &tensors, bool constant) {
  double sum = 0;
  for (const TensorFacts &tensor : tensors)
    if (tensor.constant == constant)
      sum += bytesOf(tensor);
  return magnitude(sum);
}

template <LoopAxis axis> double extent(const KernelFacts &facts) {
  return magnitude(facts.problemExtents()[size_t(axis)]);
}

double flops(const KernelFacts &facts) {
  double count = 2;
  for (double extent : facts.problemExtents())
    count *= extent;
  return magnitude(count);
}

double blockOf(const std::vector<TensorFacts> &tensors) { return tensors.empty() ? none : double(tensors[0].block); }
double bitsOf(const std::vector<TensorFacts> &tensors) { return tensors.empty() ? none : bitWidth(tensors[0].type); }

/// Bytes of the last cache level (memory does not count), if it is not one of the first two.
double thirdCache(const KernelFacts &facts) {
  return facts.target.machine.caches.size() > 2 ? magnitude(facts.target.machine.bytesPerCore(2)) : none;
}

const std::vector<ProblemFeature> problemFeatures = {
    {"problem.rows", extent<LoopAxis::rows>},
    {"problem.columns", extent<LoopAxis::columns>},
    {"problem.reduction", extent<LoopAxis::reduction>},
    {"problem.taps", extent<LoopAxis::taps>},
    {"problem.batch", extent<LoopAxis::batch>},
    {"problem.flops", flops},
    {"problem.input_bytes", [](const KernelFacts &facts) { return bytes(facts.inputs, false); }},
    {"problem.constant_bytes", [](const KernelFacts &facts) { return bytes(facts.inputs, true); }},
    {"problem.output_bytes", [](const KernelFacts &facts) { return bytes(facts.outputs, false); }},
    {"problem.operands", [](const KernelFacts &facts) { return double(facts.inputs.size()); }},
    {"problem.input_block", [](const KernelFacts &facts) { return blockOf(facts.inputs); }},
    {"problem.output_block", [](const KernelFacts &facts) { return blockOf(facts.outputs); }},
    {"problem.input_bits", [](const KernelFacts &facts) { return bitsOf(facts.inputs); }},
    {"problem.threads", [](const KernelFacts &facts) { return double(facts.threads); }},
    {"machine.l1_bytes", [](const KernelFacts &facts) { return magnitude(facts.target.machine.bytesPerCore(0)); }},
    {"machine.l2_bytes", [](const KernelFacts &facts) { return magnitude(facts.target.machine.bytesPerCore(1)); }},
    {"machine.l3_bytes", thirdCache},
    {"machine.l2_rate", [](const KernelFacts &facts) { return facts.target.machine.readRate(1); }},
    {"machine.l3_rate", [](const KernelFacts &facts) { return facts.target.machine.readRate(2); }},
    {"machine.memory_rate", [](const KernelFacts &facts) { return facts.target.machine.memoryBytesPerCycle; }},
    {"machine.multiply_adds", [](const KernelFacts &facts) { return facts.target.fmaPerCycle(); }},
    {"machine.latency", [](const KernelFacts &facts) { return double(facts.target.machine.fmaLatency); }},
    {"machine.bf16", [](const KernelFacts &facts) { return facts.target.machine.bf16PerCycle; }},
    {"machine.vector_bits", [](const KernelFacts &facts) { return double(facts.target.vectorBits); }},
    {"machine.registers", [](const KernelFacts &facts) { return double(facts.target.vectorRegisters); }}};

// ---- The prediction: shares of the total, and parts over the task's lowest prediction ----

struct CostFeature {
  const char *name;
  double (*cycles)(const Prediction &);
};

/// Waiting for cache `level`, which is not the innermost; NaN if the machine has no such cache.
template <size_t level> double waits(const Prediction &prediction) {
  return prediction.levels.size() > level ? prediction.levels[level - 1] : none;
}

const std::vector<CostFeature> costFeatures = {
    {"compute", [](const Prediction &prediction) { return prediction.compute; }},
    {"l2", waits<1>},
    {"l3", waits<2>},
    {"memory",
     [](const Prediction &prediction) { return prediction.levels.empty() ? none : prediction.levels.back(); }},
    {"transfer", [](const Prediction &prediction) { return prediction.memory; }},
    {"start", [](const Prediction &prediction) { return prediction.start; }},
    {"fork_join", [](const Prediction &prediction) { return prediction.forkJoin; }}};

// ---- Parameters ----

/// A feature for a parameter's value: for numbers the number, for words whether the schedule has the word.
struct KnobFeature {
  std::string parameter, word; // word: "" for a number
  bool isSwitch;               // values that no loop shows: words, and numbers that are 0 or 1

  std::string name() const { return "knob." + parameter + (word.empty() ? "" : "=" + word); }
  double value(const Schedule &schedule, const Algorithm &algorithm) const {
    const Parameter *declared = algorithm.find(parameter);
    if (!declared)
      return none;
    if (!word.empty())
      return schedule.word(parameter) == word;
    auto given = schedule.numbers.find(parameter);
    if (given != schedule.numbers.end())
      return double(given->second);
    return double(declared->defaultNumber.value_or(-1)); // -1: left out, the default depends on the problem
  }
};

std::vector<const Algorithm *> kernelAlgorithms() {
  std::vector<const Algorithm *> found;
  for (const Algorithm &algorithm : algorithms())
    if (*algorithm.family) // algorithms above kernels have no family
      found.push_back(&algorithm);
  return found;
}

/// One feature for each name of a number and each word, over all algorithms, because a name has the same meaning in all
/// algorithms.
std::vector<KnobFeature> listKnobFeatures() {
  std::vector<KnobFeature> list;
  auto add = [&](KnobFeature feature) {
    auto same = std::find_if(list.begin(), list.end(), [&](auto &other) { return other.name() == feature.name(); });
    if (same == list.end())
      list.push_back(std::move(feature));
  };
  for (const Algorithm *algorithm : kernelAlgorithms())
    for (const Parameter &parameter : algorithm->parameters)
      if (parameter.kind == Parameter::Kind::word)
        for (const char *word : parameter.words)
          add({parameter.name, word, true});
      else
        add({parameter.name, "", parameter.least == 0 && parameter.most == 1});
  return list;
}

const std::vector<KnobFeature> &knobFeatures() {
  static const std::vector<KnobFeature> list = listKnobFeatures();
  return list;
}

// ---- Together ----

std::vector<std::string> listNames(FeatureSet set) {
  std::vector<std::string> names;
  for (const ProblemFeature &feature : problemFeatures)
    names.push_back(feature.name);
  for (const Algorithm *algorithm : kernelAlgorithms())
    names.push_back(std::string("algorithm.") + algorithm->name);
  names.push_back("cost.total");
  names.push_back("cost.total_over_best");
  for (const CostFeature &feature : costFeatures) {
    names.push_back(std::string("cost.") + feature.name + "_share");
    names.push_back(std::string("cost.") + feature.name + "_over_best");
  }
  for (const KnobFeature &feature : knobFeatures())
    if (set == FeatureSet::knob || feature.isSwitch)
      names.push_back(feature.name());
  if (set == FeatureSet::itervar)
    addLoopNames(names);
  if (set == FeatureSet::curve)
    addCurveNames(names);
  return names;
}

void addCosts(std::vector<float> &features, const Prediction &prediction, double leastCycles) {
  double total = prediction.total();
  features.push_back(float(magnitude(total)));
  features.push_back(float(total / leastCycles));
  for (const CostFeature &feature : costFeatures) {
    double cycles = feature.cycles(prediction);
    features.push_back(float(cycles / total));
    features.push_back(float(cycles / leastCycles));
  }
}

double leastPrediction(const KernelFacts &facts) {
  try {
    return bestPrediction(facts).model.cycles;
  } catch (const Illegal &) { // no rule has a legal schedule
    return none;
  }
}

} // namespace

std::string_view name(FeatureSet set) {
  return set == FeatureSet::knob ? "knob" : set == FeatureSet::itervar ? "itervar" : "curve";
}

const std::vector<std::string> &featureNames(FeatureSet set) {
  static const std::vector<std::string> names[] = {listNames(FeatureSet::knob), listNames(FeatureSet::itervar),
                                                   listNames(FeatureSet::curve)};
  return names[size_t(set)];
}

Features::Features(const KernelFacts &facts, FeatureSet set)
    : facts(facts), set(set), leastCycles(leastPrediction(facts)) {
  for (const ProblemFeature &feature : problemFeatures)
    problem.push_back(float(feature.value(facts)));
}

Example Features::example(const Schedule &schedule, size_t task) const {
  const Algorithm &algorithm = *findAlgorithm(schedule.algorithm, schedule.version);
  Prediction prediction = facts.predict(schedule);
  Example example{task, problem, prediction.total()};
  example.features.reserve(featureNames(set).size());
  static const std::vector<const Algorithm *> all = kernelAlgorithms();
  for (const Algorithm *other : all)
    example.features.push_back(other == &algorithm);
  addCosts(example.features, prediction, leastCycles);
  for (const KnobFeature &feature : knobFeatures())
    if (set == FeatureSet::knob || feature.isSwitch)
      example.features.push_back(float(feature.value(schedule, algorithm)));
  if (set == FeatureSet::itervar)
    addLoopFeatures(example.features, facts.loopNests(schedule));
  if (set == FeatureSet::curve)
    addCurveFeatures(example.features, facts.loopNests(schedule), facts.target);
  return example;
}

} // namespace lathe::tune
