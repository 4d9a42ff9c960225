// Extents that shape functions and kernels make of others, beyond their arithmetic.
#pragma once

#include "support/Dim.h"

namespace lathe {

/// The extent where `a` and `b` meet and are equal, or one of them is 1: the other one. Commutative, associative and
/// idempotent. A constant other than 1 is the extent, as the other one can only be 1 or equal.
Dim broadcastDim(const Dim &a, const Dim &b);

/// 0 where `extent`, at least 0, is 1, and 1 elsewhere: what the stride of an axis is multiplied by that broadcasts where
/// the run finds the extent 1.
Dim varies(const Dim &extent);

/// A polynomial that `extent` is at least where symbols are at least 0: floor divisions by a constant that divides their
/// coefficient give way to what they are at least, or at most.
Dim lowerBound(const Dim &extent);

} // namespace lathe
