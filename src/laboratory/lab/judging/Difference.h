// The difference of a computed and an expected tensor: the only comparison of `verify`, `compare` and `ops bench`.
#pragma once

#include "lab/judging/Tolerance.h"
#include "runtime/Tensor.h"

#include <string>

namespace lathe::lab {

struct Difference {
  double relative = 0; // L2 norm of (computed - expected) / L2 norm of expected, over finite elements; texts: 0
  double maximum = 0;  // max |computed - expected| / max |expected|, over finite elements; texts: 0
  // row-major index of the element with the largest |difference|; texts: the first that differs
  int64_t worst = -1;
  double computed = 0, expected = 0; // values of the element `worst`
  int64_t elements = 0;
  int64_t nan = 0, infinite = 0; // number of elements that are NaN (infinite) in both tensors
  double steps = 0;              // for quantised integers: largest |difference|
  int64_t different = 0;         // for quantised integers: number of elements that differ
  // error that no tolerance allows: wrong shape, type, text, unquantised integer, or NaN on one side; "": none
  std::string broken;

  bool within(const Tolerance &tolerance) const;
  /// The difference as text: "relative error 3.1e-07, largest difference 2.2e-06 of the maximum; NaN in 3 of 512
  /// elements, in both".
  std::string str() const;
};

/// True if two tensors can be compared: they have the same shape, and either the same type, or `expected` is in float64
/// and `computed` a float.
bool comparable(const Tensor &computed, const Tensor &expected);

/// Compares the tensors. `expected` has the type of `computed` or, for floats, is in float64; then it is rounded to the
/// type first. Numbers below the smallest normal number of f32, bf16 or f64 count as zero on both sides, because
/// kernels flush them. Integers of up to 16 bits may come from a quantiser: the bounds decide how many may differ, and
/// by how much. Other integers, bools and texts must be equal. NaN and infinities must be in the same places.
Difference difference(const Tensor &computed, const Tensor &expected);

} // namespace lathe::lab
