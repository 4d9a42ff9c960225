// Networks that `lathe profile` has measured here, as points from which predictions are learned.
#pragma once

#include "predict/Points.h"
#include "store/Store.h"

namespace lathe::jobs {

/// Returns the last verified profile of each model, batch and number of threads on a platform. Every model is a family
/// of its own; `except` (a file name or zoo:NAME) is left out. Profiles that had company or stopped early are left out,
/// too, and those with instructions whose cycles nobody predicts.
std::vector<predict::MeasuredNetwork> profiledNetworks(store::Store &store, const std::string &platform,
                                                       const std::string &except);

} // namespace lathe::jobs
