// How far a computed tensor is from another: the one comparison behind `verify`, `compare` and `ops bench`.
#pragma once

#include "lab/judging/Tolerance.h"
#include "runtime/Tensor.h"

#include <string>

namespace lathe::lab {

struct Difference {
  double relative = 0;               // L2 of (computed - expected) / L2 of expected, over finite elements
  double maximum = 0;                // max |computed - expected| / max |expected|, over finite elements
  int64_t worst = -1;                // element (row-major) of the largest |difference|
  double computed = 0, expected = 0; // there
  int64_t elements = 0;
  int64_t nan = 0, infinite = 0; // elements that are so in both
  std::string broken; // what makes the tensors incomparable or unequal: shape, type, integers, NaN on one side; "" else

  bool within(const Tolerance &tolerance) const {
    return broken.empty() && relative <= tolerance.relative && maximum <= tolerance.maximum;
  }
  /// "relative error 3.1e-07, largest difference 2.2e-06 of the maximum; NaN in 3 of 512 elements, in both"
  std::string str() const;
};

/// Whether both have one shape, and one type or `expected` the judge's float64 for a float.
bool comparable(const Tensor &computed, const Tensor &expected);

/// `expected` is of the same type or, where the type is a float, in float64: then it is rounded to the type first.
/// Numbers that kernels flush (below the smallest normal number of f32, bf16 or f64) count as zero on both sides.
/// Integers, bools and texts must be equal. NaN and infinities must be in the same places.
Difference difference(const Tensor &computed, const Tensor &expected);

} // namespace lathe::lab
