#include "quantize/Quantize.h"

#include "quantize/Calibration.h"
#include "quantize/Graph.h"
#include "quantize/LayerTimes.h"
#include "quantize/WeightOnly.h"

#include "ir/Main.h"
#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace lathe::quantize {
namespace {

using Nodes = std::set<std::string>;

class Quantizer {
public:
  Quantizer(mlir::ModuleOp module, const std::vector<Sample> &samples, const Options &options,
            const std::vector<Sample> &others)
      : module(module), samples(samples), options(options), others(others) {}

  Report run() {
    require(!samples.empty(), "calibration: has no inputs, expected at least one");
    prepare(module);
    if (options.check)
      options.check(module);
    requireFiniteConstants(mainFunction(module));
    compared = comparedOutput(mainFunction(module));
    if (options.dynamic || options.weights.type != ElementType::invalid)
      return weightsOfProducts();
    if (options.equalize)
      report.equalizedPairs = equalize(mainFunction(module));
    Points points = findPoints(mainFunction(module), options.excluded);
    requireKnown(points);
    calibration.emplace(module, points, samples, options, compared.index);
    report.warnings = calibration->warnings();
    for (mlir::Operation &op : mainFunction(module).getBody().front())
      if (std::optional<Layer> layer = layerAt(&op)) {
        bool excluded = options.excluded.contains(layer->node);
        report.layers.push_back(
            {layer->node, op.getName().stripDialect().str(), !excluded, excluded ? "excluded" : "", {}, {}, {}, {}});
      }
    Nodes inFloat = options.excluded;
    if (options.onlyFaster)
      keepFaster(inFloat);
    if (report.quantizedLayers() > 0) {
      correctMeasured(inFloat);
      if (options.maxDrop || options.minCosine > 0)
        keepFaithful(inFloat);
      if (options.onlyFaster)
        confirmFaster(inFloat);
    }
    finish(inFloat);
    return std::move(report);
  }

private:
  /// Quantises only weights, which needs no ranges of activations.
  Report weightsOfProducts() {
    std::span<const Sample> inputs = others.empty() ? samples : others;
    std::vector<Tensor> expected = outputsOf(module, inputs);
    mlir::func::FuncOp main = mainFunction(module);
    if (options.dynamic)
      for (const std::string &node : quantizeDynamically(main, options.excluded))
        report.layers.push_back({node, "matmul", true, "", {}, {}, {}, {}});
    else
      for (const PackedLayer &layer : packWeights(main, options.weights, options.excluded))
        report.layers.push_back({layer.node, layer.op, true, "", {}, {}, {}, layer.cosine});
    deadCode(module);
    require(!report.layers.empty(), "the model has no matrix product with constant weights to quantise");
    report.fidelity = fidelityOf(expected, outputsOf(module, inputs), compared.byRow);
    warn();
    return std::move(report);
  }

  /// Adds warnings from the comparison of the models.
  void warn() {
    const Fidelity &fidelity = report.fidelity;
    if (!compared.open.empty())
      report.warnings.push_back(
          fmt::format("outputs with extents that depend on data are left out of the comparison: {}",
                      fmt::join(compared.open, ", ")));
    if (fidelity.leftOut)
      report.warnings.push_back(fmt::format("the output is {} for {} of {} inputs, left out of the comparison",
                                            fidelity.difference, fidelity.leftOut, fidelity.inputs));
    bool drops = !options.inputNames.empty() && fidelity.drop() > highDrop; // decisions on random inputs mean nothing
    if (!fidelity.compared() || (fidelity.cosine >= lowCosine && !drops))
      return;
    bool alone = options.dynamic || options.weights.type != ElementType::invalid;
    report.warnings.push_back(
        fmt::format("the outputs are far from those of the float model: cosine {:.3f}, {} of {} decisions changed; {}",
                    fidelity.cosine, fidelity.changed, fidelity.decisions,
                    alone ? "try more bits (--weights int8), a smaller --block or --nodes-to-exclude"
                          : "try --max-drop 1, --min-cosine 0.99 or more calibration inputs"));
  }

  mlir::ModuleOp module; // the float model
  const std::vector<Sample> &samples;
  const Options &options;
  const std::vector<Sample> &others;
  std::optional<Calibration> calibration;
  ComparedOutput compared;
  std::map<std::string, std::vector<double>> corrections;
  Report report;

  void requireKnown(const Points &points) {
    for (const std::string &node : options.excluded)
      require(llvm::is_contained(points.left, node),
              "--nodes-to-exclude {}: no convolution or matrix product with constant weights has that name", node);
    require(!points.layers.empty(), "the model has no convolution or matrix product with constant weights to quantise");
  }

  void tell(const std::string &what, size_t done, size_t total) const {
    if (options.progress)
      options.progress(what, done, total);
  }

  /// A quantised copy of the model with these layers in float. `pointsOfCopy` (may be null) receives the points of the
  /// copy, including its layers.
  mlir::OwningOpRef<mlir::ModuleOp> quantizedWithout(const Nodes &inFloat, Points *pointsOfCopy = nullptr) {
    Points points = findPoints(mainFunction(module), inFloat);
    std::vector<nn::QuantizedScale> scales = calibration->scales(points);
    mlir::IRMapping map;
    mlir::OwningOpRef<mlir::ModuleOp> copy = llvm::cast<mlir::ModuleOp>(module->clone(map));
    Points inCopy;
    inCopy.groups = points.groups;
    for (Layer layer : points.layers) {
      layer.op = map.lookup(layer.op);
      inCopy.layers.push_back(layer);
    }
    llvm::DenseMap<mlir::Value, mlir::Value> original;
    for (auto &[value, group] : points.groupOf) {
      inCopy.groupOf.insert({map.lookup(value), group});
      original[map.lookup(value)] = value;
    }
    InsertOptions insert;
    insert.perChannel = options.perChannel;
    insert.weightMost = options.reduceRange ? 63 : 127;
    insert.corrections = corrections;
    if (options.biasCorrection != BiasCorrection::none)
      insert.channelMeans = [&](mlir::Value value) { return calibration->channelMeans(original.lookup(value)); };
    insertQuantization(mainFunction(*copy), inCopy, scales, insert);
    deadCode(*copy); // the float weights
    if (pointsOfCopy)
      *pointsOfCopy = std::move(inCopy);
    return copy;
  }

  /// Corrects the mean error of the outputs of `correctionStages` layers, spread evenly, one after the other. Each
  /// correction removes the error of all layers before it.
  void measureCorrections(const Nodes &inFloat) {
    corrections.clear();
    size_t count = findPoints(mainFunction(module), inFloat).layers.size();
    size_t stages = std::min(correctionStages, count);
    for (size_t stage = 0; stage < stages; ++stage) {
      tell("correcting biases", stage, stages);
      Points points;
      mlir::OwningOpRef<mlir::ModuleOp> quantized = quantizedWithout(inFloat, &points);
      const Layer &layer = points.layers[(stage + 1) * count / stages - 1];
      Observer observer(layer.resultAxis);
      ObservedModel model(*quantized, layer.op->getResult(0), options.compile);
      for (const Sample &sample : samples)
        model.run(sample, [&](size_t, const Tensor &tensor) { observer.addLimits(tensor); });
      std::vector<double> correction = calibration->layerMeans().at(layer.node), means = observer.channelMeans();
      for (size_t channel = 0; channel < means.size(); ++channel)
        correction[channel] -= means[channel];
      corrections[layer.node] = std::move(correction);
    }
  }

  std::vector<Tensor> outputsOf(mlir::ModuleOp quantized, std::span<const Sample> inputs) {
    ObservedModel model(quantized, {}, options.compile);
    std::vector<Tensor> outputs;
    for (const Sample &sample : inputs)
      outputs.push_back(model.run(sample).at(compared.index));
    return outputs;
  }

  Fidelity fidelityWithout(const Nodes &inFloat) {
    return fidelityOf(calibration->outputs(), outputsOf(*quantizedWithout(inFloat), samples), compared.byRow);
  }

  Nodes layerNodes() const {
    Nodes nodes;
    for (const LayerReport &layer : report.layers)
      nodes.insert(layer.node);
    return nodes;
  }

  LayerReport &layerOf(const std::string &node) {
    return *std::find_if(report.layers.begin(), report.layers.end(),
                         [&](const LayerReport &layer) { return layer.node == node; });
  }

  void leave(const std::string &node, const std::string &reason) {
    layerOf(node).quantized = false;
    layerOf(node).reason = reason;
  }

  /// Keeps layers in float that int8 does not make faster: layer times select them, the whole model's time decides.
  void keepFaster(Nodes &inFloat) {
    tell("measuring layers", 0, 0);
    ObservedModel inFloats(module, {}, options.compile);
    report.floatSeconds = inFloats.seconds(samples[0], timedRuns);
    auto floats = layerTimes(inFloats.context(), layerNodes());
    auto quantized =
        std::make_unique<ObservedModel>(*quantizedWithout(inFloat), llvm::ArrayRef<mlir::Value>(), options.compile);
    report.intSeconds = quantized->seconds(samples[0], timedRuns);
    auto ints = layerTimes(quantized->context(), layerNodes());
    quantized.reset();
    for (LayerReport &layer : report.layers) {
      layer.floatSeconds = floats[layer.node];
      layer.intSeconds = ints[layer.node];
    }
    // A layer that gains little does not pay for the conversions around it.
    Nodes best = inFloat;
    for (double gain : {1.0, 1.3}) {
      Nodes candidate = inFloat;
      for (const LayerReport &layer : report.layers)
        if (*layer.floatSeconds < gain * *layer.intSeconds)
          candidate.insert(layer.node);
      if (candidate.size() == inFloat.size() || candidate.size() == report.layers.size())
        continue;
      ObservedModel mixed(*quantizedWithout(candidate), {}, options.compile);
      if (double seconds = mixed.seconds(samples[0], timedRuns); seconds < *report.intSeconds) {
        report.intSeconds = seconds;
        best = candidate;
      }
    }
    if (*report.intSeconds > *report.floatSeconds) {
      best = layerNodes();
      report.intSeconds = report.floatSeconds;
    }
    for (const std::string &node : best)
      if (!inFloat.contains(node))
        leave(node, "no faster in int8");
    inFloat = best;
  }

  /// Returns all layers to float if the layers that keepFaithful left in int8 do not make the model faster.
  void confirmFaster(Nodes &inFloat) {
    report.intSeconds = report.floatSeconds;
    if (inFloat.size() == report.layers.size())
      return;
    ObservedModel mixed(*quantizedWithout(inFloat), {}, options.compile);
    if (double seconds = mixed.seconds(samples[0], timedRuns); seconds < *report.floatSeconds) {
      report.intSeconds = seconds;
      return;
    }
    for (const LayerReport &layer : report.layers)
      if (!inFloat.contains(layer.node))
        leave(layer.node, "the layers left in int8 gain nothing");
    inFloat = layerNodes();
  }

  void correctMeasured(const Nodes &inFloat) {
    corrections.clear();
    if (options.biasCorrection == BiasCorrection::measured && inFloat.size() < report.layers.size())
      measureCorrections(inFloat);
  }

  bool isNear(const Fidelity &fidelity) const {
    if (!fidelity.compared()) // without comparison, nothing shows that more layers in float would help
      return true;
    return fidelity.drop() <= options.maxDrop.value_or(100) && fidelity.cosine >= options.minCosine &&
           fidelity.centred >= options.minCosine;
  }
  bool isFaithful(const Nodes &inFloat) { return isNear(fidelityWithout(inFloat)); }

  /// Estimates the result of isFaithful after correctMeasured, which takes much longer: the correction removes the mean
  /// error.
  bool mayBeFaithful(const Nodes &inFloat) {
    std::vector<Tensor> outputs = outputsOf(*quantizedWithout(inFloat), samples);
    if (options.biasCorrection == BiasCorrection::measured)
      outputs = withoutMeanError(calibration->outputs(), outputs);
    return isNear(fidelityOf(calibration->outputs(), outputs, compared.byRow));
  }

  /// Returns layers to float until the outputs are close enough, in the order in which rounding one layer alone
  /// disturbs the output most.
  void keepFaithful(Nodes &inFloat) {
    if (isFaithful(inFloat))
      return;
    corrections.clear(); // these corrections are for all layers in int8
    std::vector<std::string> order = bySensitivity(inFloat);
    auto with = [&](size_t count) {
      Nodes nodes = inFloat;
      nodes.insert(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
      return nodes;
    };
    size_t fails = 0, passes = order.size();
    for (size_t count = 1; count < order.size(); count *= 2) {
      tell("looking for layers to keep in float", count, order.size());
      if (mayBeFaithful(with(count))) {
        passes = count;
        break;
      }
      fails = count;
    }
    while (passes - fails > 1) {
      size_t middle = (passes + fails) / 2;
      (mayBeFaithful(with(middle)) ? passes : fails) = middle;
    }
    for (correctMeasured(with(passes)); passes < order.size() && !isFaithful(with(passes));
         correctMeasured(with(passes)))
      passes = std::min(order.size(), passes + std::max<size_t>(1, order.size() / 10));
    for (size_t i = 0; i < passes; ++i)
      leave(order[i], "sensitive");
    inFloat = with(passes);
  }

  std::vector<std::string> bySensitivity(const Nodes &inFloat) {
    constexpr size_t mostSamples = 8;
    std::span<const Sample> some = std::span(samples).first(std::min(mostSamples, samples.size()));
    std::vector<std::string> order;
    for (const LayerReport &layer : report.layers)
      if (!inFloat.contains(layer.node))
        order.push_back(layer.node);
    size_t done = 0;
    std::vector<Tensor> expected(calibration->outputs().begin(),
                                 calibration->outputs().begin() + static_cast<std::ptrdiff_t>(some.size()));
    for (const std::string &node : order) {
      tell("measuring sensitivity", done++, order.size());
      Nodes rest = layerNodes();
      rest.erase(node);
      layerOf(node).noise = noiseToSignal(expected, outputsOf(*quantizedWithout(rest), some));
    }
    std::sort(order.begin(), order.end(), [&](const std::string &a, const std::string &b) {
      return std::pair(-*layerOf(a).noise, a) < std::pair(-*layerOf(b).noise, b);
    });
    return order;
  }

  void finish(const Nodes &inFloat) {
    if (report.quantizedLayers() == 0) {
      report.fidelity = fidelityOf(calibration->outputs(), calibration->outputs(), compared.byRow);
      return warn();
    }
    tell("comparing with the float model", 0, 0);
    mlir::OwningOpRef<mlir::ModuleOp> quantized = quantizedWithout(inFloat);
    report.values = findPoints(mainFunction(module), inFloat).groupOf.size();
    if (others.empty())
      report.fidelity = fidelityOf(calibration->outputs(), outputsOf(*quantized, samples), compared.byRow);
    else
      report.fidelity = fidelityOf(outputsOf(module, others), outputsOf(*quantized, others), compared.byRow);
    warn();
    module.getBodyRegion().takeBody(quantized->getBodyRegion());
  }
};

} // namespace

size_t Report::quantizedLayers() const {
  return static_cast<size_t>(
      std::count_if(layers.begin(), layers.end(), [](const LayerReport &layer) { return layer.quantized; }));
}

Report quantizeModel(mlir::ModuleOp module, const std::vector<Sample> &samples, const Options &options,
                     const std::vector<Sample> &others) {
  return Quantizer(module, samples, options, others).run();
}

} // namespace lathe::quantize
