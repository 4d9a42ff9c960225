// Facts about a network that `lathe ops analyze` needs and the store's rows lack: its operators and its time.
#pragma once

#include "jobs/ops/OpsOptions.h"
#include "report/Network.h"

#include <optional>

namespace lathe::jobs {

struct AnalyzedNetwork {
  std::vector<report::Part> parts;
  std::string command; // command that measures the operators of the network
  std::string text;    // beginning of the problem text of the model's points, without its inputs; "" for a suite
  double seconds = 0;  // time of the whole network, if the user gives it
};

/// The network of --from-model or --suite; empty without them. `op`: only a suite's problems of this operator.
AnalyzedNetwork networkOf(OpsOptions flags, const std::string &op, double seconds = 0);

/// The time of the whole network: as given, else its last verified one in seconds, as stored by `lathe bench`; nothing
/// for a suite. `resources`: text of the resources that it held (lab::resourcesText).
std::optional<double> benchSeconds(store::Store &store, const AnalyzedNetwork &network, const std::string &platform,
                                   int threads, const std::string &resources = "");

/// Sums over the network's operators: with the caches as in the network, then as measured.
std::vector<report::Estimate> estimatesOf(const AnalyzedNetwork &network, const std::vector<report::Row> &rows,
                                          store::Store &store);

} // namespace lathe::jobs
