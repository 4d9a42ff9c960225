// The highest rate of operations that a processor can have by its declared figures: registers, instructions a cycle,
// highest clock. Nothing is measured, because a measured ceiling may be too low.
//
// A time that would need a higher rate cannot be the time of that work: a runner or provider reports it in another
// unit, or times something else (docs/measuring.md).
#pragma once

#include "machine/System.h"
#include "support/ElementType.h"

#include <optional>
#include <string>

namespace lathe::lab {

/// Operations per second of `threads` threads of the processor on factors of `type`; empty: of the type with the most.
/// A multiply-accumulate counts as two operations. Where the system does not declare a clock, it is the clock of the
/// fastest processors.
double declaredPeak(const SystemFacts &system, std::optional<ElementType> type, int threads);
/// The same for this machine.
double declaredPeak(std::optional<ElementType> type, int threads);
/// The highest such rate of any processor.
double declaredPeakAnywhere(int threads);

/// The best known algorithm does a problem's operations with this many times fewer (Winograd's F(4x4, 3x3)).
inline constexpr double mostSaving = 4;

/// Why `seconds` cannot be the time of `operations` at `peak` operations per second: "no algorithm takes
/// 1.2e-06 s for 1.16e+08 operations: ..."; "" if it can, or if one of the figures is unknown (0).
std::string beyondReach(double operations, double seconds, double peak);

} // namespace lathe::lab
