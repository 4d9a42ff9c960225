// Facts for analyses that the rows of the store lack: the operators of a network, and the network's time.
#pragma once

#include "cli/OpsFlags.h"
#include "cli/StoreFlags.h"
#include "report/Network.h"

#include <optional>

namespace lathe::cli {

struct AnalyzedNetwork {
  std::vector<report::Part> parts;
  std::string command; // command that measures the operators of the network
  std::string text;    // beginning of the problem text of the model's points, without its inputs; "" for a suite
};

/// Adds --from-model with the help text `help`, and --suite, --problems and --epilogue.
void addNetwork(Options &options, OpsFlags &flags, const char *help);
/// The network of --from-model or --suite; empty if neither is given. `op` is --operator.
AnalyzedNetwork networkOf(OpsFlags &flags, const std::string &op);

/// Returns the last verified time of a model in seconds, as stored by `lathe bench`; nothing for a suite. `named` is
/// AnalyzedNetwork::text.
std::optional<double> benchSeconds(store::Store &store, const std::string &named, const std::string &platform,
                                   int threads);

} // namespace lathe::cli
