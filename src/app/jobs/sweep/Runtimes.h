// Rows of `lathe sweep` whose model runs in another runtime.
#pragma once

#include "jobs/sweep/Rows.h"

#include <functional>

namespace lathe::jobs {

/// Gives the scores of the classes for an input: of the model of a prepared row, in its runtime. Empty, with the reason in the
/// row, where the runtime fails.
std::function<Tensor(const Tensor &input)> scoresOfRuntime(SweepRow &row);

} // namespace lathe::jobs
