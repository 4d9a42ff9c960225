// Measures how close the outputs of a quantised model are to the outputs of its float model.
#pragma once

#include "runtime/Tensor.h"

#include <string>
#include <vector>

namespace lathe::quantize {

/// How close the outputs of two models are, over the inputs that both models ran. The outputs for one input form one
/// vector. Similarities are NaN if every input is left out.
struct Fidelity {
  size_t inputs = 0;
  double cosine = 1, leastCosine = 1; // mean and smallest cosine similarity between the outputs of the two models
  /// Mean and smallest cosine similarity after subtracting from both outputs the float model's mean output over all
  /// inputs, which is the part that all outputs have in common. 1 for a single input.
  double centred = 1, leastCentred = 1;
  // number of decisions (index of the largest output): one per input, or one per row of the output
  size_t decisions = 0;
  size_t changed = 0; // number of decisions that differ between the models
  /// Number of inputs that are left out because their outputs have different extents in the two models.
  size_t leftOut = 0;
  std::string difference; // extents of the first input that is left out: "12x4 instead of 14x4"

  double drop() const { return decisions ? 100.0 * static_cast<double>(changed) / static_cast<double>(decisions) : 0; }
  size_t compared() const { return inputs - leftOut; }
};

/// Compares the outputs `found` of one model with the outputs `expected` of another: one output for each input, of any
/// floating-point type. If outputs have different extents for different inputs, means are taken over the inputs with
/// equal extents. `byRow`: each position of the first axis is a decision.
Fidelity fidelityOf(const std::vector<Tensor> &expected, const std::vector<Tensor> &found, bool byRow = false);

/// Returns the outputs `found` minus their mean difference from `expected`, as float64. The mean is over all inputs
/// with equal extents.
std::vector<Tensor> withoutMeanError(const std::vector<Tensor> &expected, const std::vector<Tensor> &found);

/// Returns the noise-to-signal ratio of outputs: the sum of squared differences divided by the sum of squares of
/// `expected`. Uses inputs whose outputs have equal extents.
double noiseToSignal(const std::vector<Tensor> &expected, const std::vector<Tensor> &found);

} // namespace lathe::quantize
