// How far a computed tensor is from the reference's.
#pragma once

#include "runtime/Tensor.h"
#include "support/Precision.h"

#include <string>

namespace lathe::cli {

/// What fp32 may lose to reassociation: plain sums stay near 1e-6, Winograd over tens of layers reaches 1e-5
/// (docs/kernels.md).
struct Tolerance {
  double relative = 2e-5; // of the L2 norm of the difference to that of the reference
  double maximum = 1e-4;  // of the largest |difference| to the largest |reference|
};

/// What may be lost at a precision. Rounding both operands to bf16 puts a layer off by 2.4e-3 of its result, up to 1e-2
/// where Winograd's transforms magnify it (docs/kernels.md); such errors are independent, so that fifty layers in a row
/// add up to about seven times that.
Tolerance toleranceOf(Precision precision);

/// The precision that a package's options (runtime::Model::options) say it was compiled with.
Precision precisionOfPackage(const std::string &options);

struct Difference {
  double relative = 0;               // L2 of (computed - reference) / L2 of reference
  double maximum = 0;                // max |computed - reference| / max |reference|
  int64_t worst = -1;                // element (row-major) of the largest |difference|
  double computed = 0, expected = 0; // there
  std::string broken; // what makes the tensors incomparable or the values unusable: type, shape, not finite; "" else

  bool within(const Tolerance &tolerance) const {
    return broken.empty() && relative <= tolerance.relative && maximum <= tolerance.maximum;
  }
  /// "relative error 3.1e-07, largest 2.2e-06 of the maximum"
  std::string str() const;
};

/// Floats by both measures; other types must be equal. Elements that are not finite must be the same ones (NaN equals
/// NaN).
Difference difference(const Tensor &computed, const Tensor &reference);

} // namespace lathe::cli
