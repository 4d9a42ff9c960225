// How near the outputs of a quantised model are to those of its float model.
#pragma once

#include "runtime/Tensor.h"

#include <vector>

namespace lathe::quantize {

/// Over the inputs that both models ran. Outputs of one run are one vector, the first output of the model.
struct Fidelity {
  size_t inputs = 0;
  double cosine = 1, leastCosine = 1; // cosine similarity of the outputs: mean and smallest
  /// The same after subtracting the float model's mean output over all inputs, which takes away what all outputs have in
  /// common. 1 for a single input.
  double centred = 1, leastCentred = 1;
  size_t changed = 0; // inputs whose decision, the index of the largest output, differs

  double drop() const { return inputs ? 100.0 * static_cast<double>(changed) / static_cast<double>(inputs) : 0; }
};

/// `expected` and `found` have the output of each input, of any floating-point type and equal extents.
Fidelity fidelityOf(const std::vector<Tensor> &expected, const std::vector<Tensor> &found);

/// `found` less the mean difference from `expected` over all inputs, as float64.
std::vector<Tensor> withoutMeanError(const std::vector<Tensor> &expected, const std::vector<Tensor> &found);

/// Sum of squared differences over the sum of squares of what is expected.
double noiseToSignal(const std::vector<Tensor> &expected, const std::vector<Tensor> &found);

} // namespace lathe::quantize
