// Summary of the elements of a model's output.
#pragma once

#include "runtime/Tensor.h"

#include <string>

namespace lathe::lab {

/// Minimum, maximum and mean of the finite elements of an output, and the reason to mistrust the output: all zero,
/// constant, or no finite element ("": none).
struct OutputSummary {
  double min = 0, max = 0, mean = 0; // valid only if measured()
  int64_t elements = 0, nan = 0, infinite = 0;
  bool texts = false;
  std::string mistrust;
  bool measured() const { return !texts && elements > nan + infinite; }
  /// The summary as text: "min 0, max 1, mean 0.5; NaN in 3 of 512 elements".
  std::string str() const;
};
OutputSummary summarizeOutput(const Tensor &tensor);

} // namespace lathe::lab
