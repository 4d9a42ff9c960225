// Calibration of quantisation: runs a float model on the calibration inputs and keeps statistics of its values.
#pragma once

#include "quantize/Points.h"
#include "quantize/Quantize.h"
#include "quantize/Scales.h"

namespace lathe::quantize {

class Calibration {
public:
  /// Runs the float model on all samples. Observes the values to quantise (`points`) and keeps output number
  /// `compared`. Throws Error with the names of the sample and the value if a value is not finite.
  Calibration(mlir::ModuleOp module, const Points &points, const std::vector<Sample> &samples, const Options &options,
              size_t compared);

  /// The kept output of the float model, one tensor for each sample.
  const std::vector<Tensor> &outputs() const { return results; }
  /// Scale and zero point of each group of values in `points`, from the observed values.
  std::vector<nn::QuantizedScale> scales(const Points &points) const;
  /// Mean of each channel over all samples, for a value that a layer reads; empty for other values.
  std::vector<double> channelMeans(mlir::Value value) const;
  /// Lists observed values with an empty range or with magnitudes beyond largestMagnitude, one line each.
  std::vector<std::string> warnings() const;
  /// Means of the output channels of each layer, by the layer's node.
  const std::map<std::string, std::vector<double>> &layerMeans() const { return resultMeans; }

private:
  const Options &options;
  llvm::MapVector<mlir::Value, Observer> observers;
  std::vector<Tensor> results;
  std::map<std::string, std::vector<double>> resultMeans;

  Range rangeOf(const Observer &observer) const;
};

} // namespace lathe::quantize
