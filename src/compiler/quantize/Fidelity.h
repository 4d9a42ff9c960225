// How close the outputs of a quantised model are to the outputs of its float model.
#pragma once

#include "runtime/Tensor.h"

#include <string>
#include <vector>

namespace lathe::quantize {

/// Over the inputs that both models ran. The outputs of one run form one vector. Similarities are NaN if every input is
/// left out.
struct Fidelity {
  size_t inputs = 0;
  double cosine = 1, leastCosine = 1; // cosine similarity of the outputs: mean and smallest
  /// The same after subtracting the float model's mean output over all inputs, which removes the common part of all
  /// outputs. 1 for a single input.
  double centred = 1, leastCentred = 1;
  size_t decisions = 0; // indices of largest outputs: one per input, or one per row
  size_t changed = 0;   // decisions that differ
  /// Inputs that are left out because their outputs have different extents in the two models. `difference`: the extents
  /// of the first such input.
  size_t leftOut = 0;
  std::string difference; // "12x4 instead of 14x4"

  double drop() const { return decisions ? 100.0 * static_cast<double>(changed) / static_cast<double>(decisions) : 0; }
  size_t compared() const { return inputs - leftOut; }
};

/// `expected` and `found` have the output for each input, in any floating-point type. If inputs have outputs with
/// different extents, means are taken over the inputs with equal extents. `byRow`: each position of the first axis is a
/// decision.
Fidelity fidelityOf(const std::vector<Tensor> &expected, const std::vector<Tensor> &found, bool byRow = false);

/// `found` minus its mean difference from `expected`, over all inputs with equal extents, as float64.
std::vector<Tensor> withoutMeanError(const std::vector<Tensor> &expected, const std::vector<Tensor> &found);

/// Sum of squared differences over the sum of squares of `expected`, for outputs with equal extents.
double noiseToSignal(const std::vector<Tensor> &expected, const std::vector<Tensor> &found);

} // namespace lathe::quantize
