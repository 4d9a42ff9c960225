// The content of a store as JSON, for the index page and the events of `lathe serve`.
#pragma once

#include "store/ReadOnly.h"

namespace lathe::serve {

/// Returns one JSON object for each experiment in `summaries`, in the same order: id, kind, command, dates, platform,
/// numbers of points and tuning records, and a state: "finished", "running", or "stopped" (the process ended before
/// the experiment did). A running experiment also has the process and, if it is known, the number of planned points.
std::vector<nlohmann::json> experimentsJson(store::Store &store,
                                            const std::vector<store::ExperimentSummary> &summaries);

/// JSON of all platforms in the store with their experiments, in the order of the platforms' names.
nlohmann::json platformsJson(store::Store &store, const std::vector<store::ExperimentSummary> &experiments);
/// JSON of the whole models that were measured, each with its experiments. Marks providers that have points which are
/// not verified here.
nlohmann::json modelsJson(store::Store &store);

/// Makes a message for clients, which names the store by store::Location::name() instead of its path or URL.
std::string shownMessage(std::string message, const std::string &store);

} // namespace lathe::serve
