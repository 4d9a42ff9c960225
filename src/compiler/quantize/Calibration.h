// Runs a float model on the calibration inputs and keeps statistics of its values.
#pragma once

#include "quantize/Points.h"
#include "quantize/Quantize.h"
#include "quantize/Scales.h"

namespace lathe::quantize {

class Calibration {
public:
  /// Observes all values of `points`, and output number `compared`. Throws Error with the name of the input and of the
  /// value if a value is not finite.
  Calibration(mlir::ModuleOp module, const Points &points, const std::vector<Sample> &samples, const Options &options,
              size_t compared);

  /// The compared output of the float model for each sample.
  const std::vector<Tensor> &outputs() const { return results; }
  /// Scales of the groups of `points`, whose values were all observed.
  std::vector<nn::QuantizedScale> scales(const Points &points) const;
  /// Means of the channels of a value that a layer reads; empty for other values.
  std::vector<double> channelMeans(mlir::Value value) const;
  /// Values with an empty range or with magnitudes beyond largestMagnitude, one line each.
  std::vector<std::string> warnings() const;
  /// Means of the output channels of each layer, by node.
  const std::map<std::string, std::vector<double>> &layerMeans() const { return resultMeans; }

private:
  const Options &options;
  llvm::MapVector<mlir::Value, Observer> observers;
  std::vector<Tensor> results;
  std::map<std::string, std::vector<double>> resultMeans;

  Range rangeOf(const Observer &observer) const;
};

} // namespace lathe::quantize
