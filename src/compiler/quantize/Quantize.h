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

/// How the bias of a layer corrects the mean error of the layer's output. none: no correction. weights: of the error
/// from rounding the weights, computed from the means of the inputs. measured: also of the remaining error, measured
/// at the ends of `correctionStages` parts of the network, one part after the other.
enum class BiasCorrection { none, weights, measured };
inline constexpr size_t correctionStages = 8;

struct Options {
  CalibrationMethod method = CalibrationMethod::minMax;
  /// Only for CalibrationMethod::percentile: the percentile of values at which the range ends, in percent.
  double percentile = 99.99;
  ElementType activationType = ElementType::u8; // type of quantised activations: u8 or i8
  bool symmetricActivations = false;
  bool perChannel = true;   // true: weights have a scale for each output channel; false: one scale
  bool reduceRange = false; // true: weights have 7 bits, for processors whose byte products saturate at 16 bits
  bool equalize = false;    // true: cross-layer equalisation runs first
  BiasCorrection biasCorrection = BiasCorrection::measured;
  std::set<std::string> excluded; // nodes that stay in float
  /// Largest share of inputs whose decision may change by quantisation, in percent. Layers return to float until this
  /// holds.
  std::optional<double> maxDrop;
  /// Smallest mean cosine similarity between the outputs of both models over the calibration inputs, plain and centred
  /// (Fidelity.h). Layers return to float until it is reached. 0: no minimum.
  double minCosine = 0.99;
  bool dynamic = false; // true: quantises only matrix products, with inputs quantised in each run (quantizeDynamically)
  /// Form of the weights if only weights are quantised (packWeights); activations then stay in float.
  WeightFormat weights;
  bool onlyFaster = false; // true: layers stay in float if int8 does not make them faster on this machine
  CompileOptions compile;  // options with which models are compiled that run during quantisation
  /// Names of the calibration inputs for error messages, such as files. Empty: the inputs are random numbers.
  std::vector<std::string> inputNames;
  /// Function that receives the prepared graph before any input runs; throws Error if the graph cannot be written. May
  /// be empty.
  std::function<void(mlir::ModuleOp)> check;
  /// Function that receives the progress of quantisation. May be empty.
  std::function<void(const std::string &what, size_t done, size_t total)> progress;
};

/// What quantisation has done to one layer.
struct LayerReport {
  std::string node, op;
  bool quantized = false;
  std::string reason;          // the reason why the layer stays in float; "": it is quantised
  std::optional<double> noise; // noise-to-signal ratio of the model's output with only this layer in int8
  /// Seconds of the layer in float and in int8, measured for Options::onlyFaster.
  std::optional<double> floatSeconds, intSeconds;
  std::optional<double> cosine; // packWeights only: cosine similarity of the weights before and after quantisation
};

struct Report {
  std::vector<LayerReport> layers; // reports on the layers, in the order of the graph
  size_t equalizedPairs = 0;
  size_t values = 0; // number of quantised activations
  Fidelity fidelity; // comparison of the quantised model with the float model
  /// Seconds of the whole model in float and in int8, measured for Options::onlyFaster.
  std::optional<double> floatSeconds, intSeconds;
  std::vector<std::string> warnings; // reasons to doubt the result, one line each

  size_t quantizedLayers() const;
};

/// Activations with magnitudes above this limit are reported in a warning, because 8 bits cannot resolve them.
inline constexpr double largestMagnitude = 1e9;
/// Limits beyond which the result of a quantisation gets a warning: a smaller mean cosine similarity than lowCosine,
/// or a larger share of changed decisions than highDrop, in percent.
inline constexpr double lowCosine = 0.95, highDrop = 10;

/// Quantises `module`, which is rewritten, with the calibration inputs `samples`. The float and the quantised model
/// are compared by the first result whose extents do not depend on data: both run the inputs `others`, or `samples` if
/// `others` is empty. Throws Error if nothing can be quantised.
Report quantizeModel(mlir::ModuleOp module, const std::vector<Sample> &samples, const Options &options,
                     const std::vector<Sample> &others = {});

} // namespace lathe::quantize
