#include "quantize/Calibration.h"

#include "quantize/Graph.h"

#include "ir/Main.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

namespace lathe::quantize {
namespace {

/// Axis of the channels of a value, from the input axis of the layers that read it.
int64_t channelAxisOf(mlir::Value value) {
  for (mlir::Operation *user : value.getUsers())
    if (std::optional<Layer> layer = layerAt(user); layer && user->getOperand(0) == value)
      return layer->inputAxis;
  return -1;
}

} // namespace

Calibration::Calibration(mlir::ModuleOp module, const Points &points, const std::vector<Sample> &samples,
                         const Options &options, size_t compared)
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
    const size_t index = results.size();
    tell();
    auto see = [&](size_t i, const Tensor &tensor) {
      try {
        (i < activations ? observers.find(values[i])->second : layerObservers[i - activations]).addLimits(tensor);
      } catch (const Error &error) {
        fail("{} {}", valueName(values[i]), error.what());
      }
    };
    try {
      results.push_back(model.run(sample, see).at(compared));
    } catch (const Error &error) {
      fail("{}: {}", options.inputNames.empty() ? fmt::format("random input {}", index) : options.inputNames.at(index),
           error.what());
    }
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

std::vector<std::string> Calibration::warnings() const {
  std::vector<std::string> empty, large, lines;
  for (const auto &[value, observer] : observers) {
    Range seen = observer.limits();
    double most = std::max(-seen.least, seen.most);
    if (most == 0)
      empty.push_back(valueName(value));
    else if (most > largestMagnitude)
      large.push_back(fmt::format("{} (to {:.3g})", valueName(value), most));
  }
  auto list = [&](const std::vector<std::string> &names, const std::string &what) {
    constexpr size_t shown = 5;
    if (names.empty())
      return;
    std::string more = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
    lines.push_back(fmt::format("{}: {}{}", what, fmt::join(llvm::ArrayRef(names).take_front(shown), ", "), more));
  };
  list(empty, "zero for all calibration inputs, so that the range is empty");
  list(large, fmt::format("beyond {:g} in magnitude, of which 8 bits resolve little", largestMagnitude));
  return lines;
}

std::vector<double> Calibration::channelMeans(mlir::Value value) const {
  auto found = observers.find(value);
  return found == observers.end() ? std::vector<double>() : found->second.channelMeans();
}

} // namespace lathe::quantize
