// The highest rate of operations that a processor can have according to its declared figures: registers, instructions a
// cycle, highest clock. Nothing is measured, because a measured ceiling may be too low.
//
// A time that would need a higher rate cannot belong to this work: a runner or provider reports it in another unit, or
// times something else (docs/measuring.md).
#pragma once

#include "machine/System.h"
#include "support/ElementType.h"

#include <optional>
#include <string>

namespace lathe::lab {

/// The declared peak: the highest number of operations per second that `threads` threads of the processor can execute
/// on factors of `type` (empty: of the fastest type). A multiply-accumulate counts as two operations. If the system
/// does not declare a clock, the clock of the fastest processors is assumed.
double declaredPeak(const SystemFacts &system, std::optional<ElementType> type, int threads);
/// The declared peak of this machine's processor, in operations per second.
double declaredPeak(std::optional<ElementType> type, int threads);
/// The highest declared peak of any known processor with `threads` threads, in operations per second.
double declaredPeakAnywhere(int threads);

/// Factor by which algorithms may need fewer operations than the nominal count: the best known one, Winograd's F(4x4,
/// 3x3), needs a quarter.
inline constexpr double mostSaving = 4;

/// The reason why `seconds` cannot be the time of `operations` at `peak` operations per second: "no algorithm takes
/// 1.2e-06 s for 1.16e+08 operations: ..."; "" if it can be, or if a figure is unknown (0).
std::string beyondReach(double operations, double seconds, double peak);

} // namespace lathe::lab
