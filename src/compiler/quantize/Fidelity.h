// How near the outputs of a quantised model are to the outputs of its float model.
#pragma once

#include "runtime/Tensor.h"

#include <string>
#include <vector>

namespace lathe::quantize {

/// Over the inputs that both models ran. Outputs of one run are one vector, one output of the model. Similarities are not a
/// number where every input is left out.
struct Fidelity {
  size_t inputs = 0;
  double cosine = 1, leastCosine = 1; // cosine similarity of the outputs: mean and smallest
  /// The same after subtracting the float model's mean output over all inputs, which takes away what all outputs have in
  /// common. 1 for a single input.
  double centred = 1, leastCentred = 1;
  size_t decisions = 0; // indices of largest outputs: one an input, or one a row
  size_t changed = 0;   // decisions that differ
  /// Inputs that are left out because their outputs have different extents in the two models. `difference`: the extents
  /// of the first such input.
  size_t leftOut = 0;
  std::string difference; // "12x4 instead of 14x4"

  double drop() const { return decisions ? 100.0 * static_cast<double>(changed) / static_cast<double>(decisions) : 0; }
  size_t compared() const { return inputs - leftOut; }
};

/// `expected` and `found` have the output of each input, of any floating-point type. Outputs of several inputs may have
/// different extents; a mean is taken over the inputs with equal extents. `byRow`: each position of the first axis is a
/// decision.
Fidelity fidelityOf(const std::vector<Tensor> &expected, const std::vector<Tensor> &found, bool byRow = false);

/// `found` less the mean difference from `expected` over all inputs with equal extents, as float64.
std::vector<Tensor> withoutMeanError(const std::vector<Tensor> &expected, const std::vector<Tensor> &found);

/// Sum of squared differences over the sum of squares of what is expected, over outputs with equal extents.
double noiseToSignal(const std::vector<Tensor> &expected, const std::vector<Tensor> &found);

} // namespace lathe::quantize
