// Extents that shape functions and kernels make of others, beyond their arithmetic.
#pragma once

#include "support/Dim.h"

namespace lathe {

/// The extent where axes of extents `a` and `b` broadcast: they are equal, or one of them is 1 and the other one is the
/// result. Commutative, associative and idempotent. A constant other than 1 is the result, as the other extent can only
/// be 1 or equal.
Dim broadcastDim(const Dim &a, const Dim &b);

/// 0 if `extent` is 1, else 1, for an extent of at least 0. The stride of an axis is multiplied by it, so that the axis
/// broadcasts if its extent turns out to be 1 in a run.
Dim varies(const Dim &extent);

/// A polynomial that is a lower bound of `extent` for symbols of at least 0. A floor division by a constant that
/// divides its coefficient is replaced by its lower bound, or by its upper bound where the coefficient is negative.
Dim lowerBound(const Dim &extent);

} // namespace lathe
