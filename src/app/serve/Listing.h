// What a store holds, as the JSON of index pages and events.
#pragma once

#include "store/ReadOnly.h"

namespace lathe::serve {

/// One JSON object for each summary, in the same order: id, kind, command, dates, platform, numbers of points and tuning
/// records, and a state. "finished" and "running" say what they mean; "stopped": the process ended before the experiment
/// did. A running experiment also has the process and, if it is known, the number of points that are planned.
std::vector<nlohmann::json> experimentsJson(store::Store &store,
                                            const std::vector<store::ExperimentSummary> &summaries);

/// Platforms with their experiments, in the order of their names.
nlohmann::json platformsJson(store::Store &store, const std::vector<store::ExperimentSummary> &experiments);
/// Whole models that were measured, each with its experiments. Providers of points that are not verified here
/// are marked.
nlohmann::json modelsJson(store::Store &store);

/// A message with store::Location::name() in place of the path or URL of the store, for clients.
std::string shownMessage(std::string message, const std::string &store);

} // namespace lathe::serve
