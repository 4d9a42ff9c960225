// What the elements of an output say at first sight.
#pragma once

#include "runtime/Tensor.h"

#include <string>

namespace lathe::lab {

/// Smallest, largest and mean of the finite elements, and what makes an output not worth trusting ("" when nothing
/// does): all zero, constant, no finite element.
struct OutputSummary {
  double min = 0, max = 0, mean = 0; // of nothing unless measured()
  int64_t elements = 0, nan = 0, infinite = 0;
  bool texts = false;
  std::string mistrust;
  bool measured() const { return !texts && elements > nan + infinite; }
  /// "min 0, max 1, mean 0.5; NaN in 3 of 512 elements"
  std::string str() const;
};
OutputSummary summarizeOutput(const Tensor &tensor);

} // namespace lathe::lab
