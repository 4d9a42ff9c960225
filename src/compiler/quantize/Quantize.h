// Post-training quantisation: from a float graph and calibration inputs to a graph that quantises and dequantises.
//
//   Report report = quantizeModel(*module, samples, options);
//   exportOnnxFile(*module, "q.onnx");
#pragma once

#include "quantize/Fidelity.h"
#include "quantize/ObservedModel.h"
#include "quantize/Observer.h"
#include "quantize/WeightFormat.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lathe::quantize {

/// The mean error of a layer's output that its bias is corrected for. weights: the error from rounding the weights,
/// computed from the means of the inputs. measured: also the remaining error, measured at the ends of
/// `correctionStages` parts of the network, one part after the other.
enum class BiasCorrection { none, weights, measured };
inline constexpr size_t correctionStages = 8;

struct Options {
  CalibrationMethod method = CalibrationMethod::minMax;
  double percentile = 99.99;                    // of CalibrationMethod::percentile, in percent
  ElementType activationType = ElementType::u8; // or i8
  bool symmetricActivations = false;
  bool perChannel = true;   // weights have a scale for each output channel
  bool reduceRange = false; // weights of 7 bits, for processors whose byte products saturate at 16 bits
  bool equalize = false;    // cross-layer equalisation
  BiasCorrection biasCorrection = BiasCorrection::measured;
  std::set<std::string> excluded; // nodes that stay in float
  /// Largest share of inputs whose decision may change, in percent. Layers return to float until this holds.
  std::optional<double> maxDrop;
  /// Smallest mean cosine similarity of the outputs over the calibration inputs, plain and centred (Fidelity.h). Layers
  /// return to float until it is reached. 0: no minimum.
  double minCosine = 0.99;
  bool dynamic = false;    // matrix products alone, with inputs quantised at run time (quantizeDynamically)
  WeightFormat weights;    // if only weights are quantised (packWeights); activations stay in float
  bool onlyFaster = false; // layers stay in float if int8 does not make them faster on this machine
  CompileOptions compile;  // for the models that are run
  /// Names of the calibration inputs for errors, such as files. Empty: the inputs are random numbers.
  std::vector<std::string> inputNames;
  /// Receives the prepared graph before any input runs; throws Error if it cannot be written. May be empty.
  std::function<void(mlir::ModuleOp)> check;
  /// Receives the progress. May be empty.
  std::function<void(const std::string &what, size_t done, size_t total)> progress;
};

/// The result for one layer.
struct LayerReport {
  std::string node, op;
  bool quantized = false;
  std::string reason;                             // why it stays in float; ""
  std::optional<double> noise;                    // noise-to-signal ratio of the output with this layer alone in int8
  std::optional<double> floatSeconds, intSeconds; // measured for Options::onlyFaster
  std::optional<double> cosine;                   // of its weights and the dequantised weights, of packWeights
};

struct Report {
  std::vector<LayerReport> layers; // in order
  size_t equalizedPairs = 0;
  size_t values = 0;                              // quantised activations
  Fidelity fidelity;                              // of the quantised model
  std::optional<double> floatSeconds, intSeconds; // of the whole model, measured for Options::onlyFaster
  std::vector<std::string> warnings;              // reasons to doubt the result, one line each

  size_t quantizedLayers() const;
};

/// Magnitudes of activations above this are reported: 8 bits cannot resolve them.
inline constexpr double largestMagnitude = 1e9;
/// A smaller mean cosine similarity, or a larger share of changed decisions in percent, is a warning.
inline constexpr double lowCosine = 0.95, highDrop = 10;

/// Quantises `module`, which is rewritten. The first result whose extents do not depend on data is compared. Both
/// models run the samples `others`, or the calibration inputs if there are none. Throws Error if nothing can be
/// quantised.
Report quantizeModel(mlir::ModuleOp module, const std::vector<Sample> &samples, const Options &options,
                     const std::vector<Sample> &others = {});

} // namespace lathe::quantize
