// Rows of `lathe sweep` whose model runs in another runtime.
#pragma once

#include "jobs/sweep/Rows.h"

#include <functional>

namespace lathe::jobs {

/// Returns a function that gives the scores of the classes for an input, computed by the model of a prepared row in
/// the row's runtime. If the runtime fails, the returned function is empty and the row gets the reason.
std::function<Tensor(const Tensor &input)> scoresOfRuntime(SweepRow &row);

} // namespace lathe::jobs
