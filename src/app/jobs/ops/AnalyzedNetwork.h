// Facts for analyses that the rows of the store lack: the operators of a network, and the network's time.
#pragma once

#include "jobs/ops/OpsOptions.h"
#include "report/Network.h"

#include <optional>

namespace lathe::jobs {

struct AnalyzedNetwork {
  std::vector<report::Part> parts;
  std::string command; // command that measures the operators of the network
  std::string text;    // beginning of the problem text of the model's points, without its inputs; "" for a suite
};

/// The network of --from-model or --suite; empty without them. `op` is --operator.
AnalyzedNetwork networkOf(OpsOptions &flags, const std::string &op);

/// Returns the last verified time of a model in seconds, as stored by `lathe bench`; nothing for a suite. `named` is
/// AnalyzedNetwork::text.
std::optional<double> benchSeconds(store::Store &store, const std::string &named, const std::string &platform,
                                   int threads);

} // namespace lathe::jobs
