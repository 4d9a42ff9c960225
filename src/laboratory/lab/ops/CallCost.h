// Measures what a call of a provider costs without the work.
#pragma once

#include "lab/ops/ProviderWorker.h"

namespace lathe::lab {

/// Returns the cost of a provider's call: the median time, in seconds, of 201 calls that compute one element. The
/// problem is a relu or, if the provider does not prepare it, one of two matrix products, in the default variant.
/// Returns nothing if the provider prepares none of them, or if the worker fails (it is then dead). Replaces the
/// prepared problem; operands are written to files in `directory`.
std::optional<double> secondsOfCall(ProviderWorker &worker, int threads, uint64_t seed, const std::string &directory);

} // namespace lathe::lab
