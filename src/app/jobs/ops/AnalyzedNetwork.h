// What analyses of the store know beside its rows: the operators of a network, and the network's time.
#pragma once

#include "jobs/ops/OpsOptions.h"
#include "report/Network.h"

#include <optional>

namespace lathe::jobs {

struct AnalyzedNetwork {
  std::vector<report::Part> parts;
  std::string command; // measures its operators
  std::string text;    // how the texts of points of a model begin; what follows are the inputs. Of a suite: empty
};

/// The network of --from-model or --suite; empty without them. `op` is --operator.
AnalyzedNetwork networkOf(OpsOptions &flags, const std::string &op);

/// Returns the last verified time of a model in seconds, as `lathe bench` stored it. Returns nothing for a suite. `named` is
/// AnalyzedNetwork::text.
std::optional<double> benchSeconds(store::Store &store, const std::string &named, const std::string &platform,
                                   int threads);

} // namespace lathe::jobs
