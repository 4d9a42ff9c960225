// What a call of a provider costs besides the work.
#pragma once

#include "lab/ops/ProviderWorker.h"

namespace lathe::lab {

/// Seconds of a call that computes one element: the first of a relu and two matrix products that the provider prepares,
/// in its default variant; the median of 201 runs. None where it prepares none of them, or breaks, which ends the
/// worker. Replaces what was prepared; operands are written to files in `directory`.
std::optional<double> secondsOfCall(ProviderWorker &worker, int threads, uint64_t seed, const std::string &directory);

} // namespace lathe::lab
