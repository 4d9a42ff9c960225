// How far a computed tensor is from the reference's.
#pragma once

#include "runtime/Tensor.h"

#include <string>

namespace lathe::cli {

/// What fp32 may lose to reassociation: plain sums stay near 1e-6, Winograd over tens of layers reaches 1e-5 (docs/kernels.md).
struct Tolerance {
  double relative = 2e-5; // of the L2 norm of the difference to that of the reference
  double maximum = 1e-4;  // of the largest |difference| to the largest |reference|
};

struct Difference {
  double relative = 0;  // L2 of (computed - reference) / L2 of reference
  double maximum = 0;   // max |computed - reference| / max |reference|
  int64_t worst = -1;   // element (row-major) of the largest |difference|
  double computed = 0, expected = 0; // there
  std::string broken;   // what makes the tensors incomparable or the values unusable: type, shape, not finite; "" else

  bool within(const Tolerance &tolerance) const {
    return broken.empty() && relative <= tolerance.relative && maximum <= tolerance.maximum;
  }
  /// "relative error 3.1e-07, largest 2.2e-06 of the maximum"
  std::string str() const;
};

/// Floats by both measures; other types must be equal. Elements that are not finite must be the same ones (NaN equals NaN).
Difference difference(const Tensor &computed, const Tensor &reference);

} // namespace lathe::cli
