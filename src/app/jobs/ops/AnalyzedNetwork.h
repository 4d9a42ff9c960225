// Facts about a network that `lathe ops analyze` needs and the store's rows lack: its operators and its time.
#pragma once

#include "jobs/ops/OpsOptions.h"
#include "report/Network.h"

#include <optional>

namespace lathe::jobs {

struct AnalyzedNetwork {
  std::vector<report::Part> parts;
  std::string command; // command that measures the operators of the network
  // how the problem text of the model's points begins, without the model's inputs; "" for a suite
  std::string text;
};

/// Returns the network that --from-model or --suite names; an empty one if neither is given. `op`: value of
/// --operator.
AnalyzedNetwork networkOf(OpsOptions &flags, const std::string &op);

/// Returns the last verified time of a model in seconds, as stored by `lathe bench`; nothing for a suite. `named`:
/// AnalyzedNetwork::text.
std::optional<double> benchSeconds(store::Store &store, const std::string &named, const std::string &platform,
                                   int threads);

} // namespace lathe::jobs
