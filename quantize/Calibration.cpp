#include "quantize/Calibration.h"

#include "ir/Main.h"

#include <algorithm>
#include <cmath>

namespace lathe::quantize {
namespace {

/// Axis of the channels of a value that layers read: as their input axis says.
int64_t channelAxisOf(mlir::Value value) {
  for (mlir::Operation *user : value.getUsers())
    if (std::optional<Layer> layer = layerAt(user); layer && user->getOperand(0) == value)
      return layer->inputAxis;
  return -1;
}

} // namespace

Calibration::Calibration(mlir::ModuleOp module, const Points &points, const std::vector<Sample> &samples,
                         const Options &options)
    : options(options) {
  std::vector<mlir::Value> values;
  for (auto &[value, group] : points.groupOf) {
    observers.insert({value, Observer(channelAxisOf(value))});
    values.push_back(value);
  }
  const size_t activations = values.size();
  std::vector<Observer> layerObservers;
  for (const Layer &layer : points.layers) {
    layerObservers.emplace_back(layer.resultAxis);
    values.push_back(layer.op->getResult(0));
  }
  ObservedModel model(module, values, options.compile);
  bool distributions = options.method != CalibrationMethod::minMax;
  size_t total = samples.size() * (distributions ? 2 : 1), done = 0;
  auto tell = [&] {
    if (options.progress)
      options.progress("calibrating", done, total);
    ++done;
  };
  for (const Sample &sample : samples) {
    tell();
    results.push_back(model
                          .run(sample,
                               [&](size_t i, const Tensor &tensor) {
                                 (i < activations ? observers.find(values[i])->second : layerObservers[i - activations])
                                     .addLimits(tensor);
                               })
                          .at(0));
  }
  for (size_t i = 0; i < layerObservers.size(); ++i)
    resultMeans[points.layers[i].node] = layerObservers[i].channelMeans();
  if (!distributions)
    return;
  for (auto &[value, observer] : observers)
    observer.beginDistribution(std::max(-observer.limits().least, observer.limits().most));
  for (const Sample &sample : samples) {
    tell();
    model.run(sample, [&](size_t i, const Tensor &tensor) {
      if (i < activations)
        observers.find(values[i])->second.addDistribution(tensor);
    });
  }
}

Range Calibration::rangeOf(const Observer &observer) const {
  Range seen = observer.limits();
  switch (options.method) {
  case CalibrationMethod::minMax:
    return seen;
  case CalibrationMethod::percentile:
    return percentileRange(observer.distribution(), options.percentile, seen);
  case CalibrationMethod::entropy:
    return entropyRange(observer.distribution(), seen.least < 0 ? 128 : 256, seen);
  }
  return seen;
}

std::vector<nn::QuantizedScale> Calibration::scales(const Points &points) const {
  std::vector<Range> ranges(points.groups);
  for (auto &[value, group] : points.groupOf) {
    Range range = rangeOf(observers.find(value)->second);
    ranges[group].least = std::min(ranges[group].least, range.least);
    ranges[group].most = std::max(ranges[group].most, range.most);
  }
  std::vector<nn::QuantizedScale> scales;
  for (const Range &range : ranges)
    scales.push_back(activationScale(range, options.activationType, options.symmetricActivations));
  return scales;
}

std::vector<double> Calibration::channelMeans(mlir::Value value) const {
  auto found = observers.find(value);
  return found == observers.end() ? std::vector<double>() : found->second.channelMeans();
}

} // namespace lathe::quantize
