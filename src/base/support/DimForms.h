// Functions that make an extent from other extents: broadcasting, "is not 1", and lower bounds.
#pragma once

#include "support/Dim.h"

namespace lathe {

/// The extent of a result that broadcasts axes of extents `a` and `b`: both are equal, or one of them is 1 and the
/// other one is the result. Commutative, associative and idempotent. If one of them is a constant other than 1, it is
/// the result, because the other extent can only be 1 or equal to it.
Dim broadcastDim(const Dim &a, const Dim &b);

/// Returns 0 if `extent` is 1, else 1; `extent` must be at least 0. Code multiplies the stride of an axis by this
/// number, so that the axis broadcasts if its extent is 1 in a run.
Dim varies(const Dim &extent);

/// Returns a lower bound of an open extent: a polynomial that is never above `extent`, if all symbols are at least 0.
/// A floor division by a constant that divides its coefficient is replaced by its lower bound, or by its upper bound
/// where the coefficient is negative.
Dim lowerBound(const Dim &extent);

} // namespace lathe
