// What analyses of the store know beside its rows: the operators of a network, the network's time, and
// the ceilings of the machine.
#pragma once

#include "cli/OpsFlags.h"
#include "cli/StoreFlags.h"
#include "lab/machine/Machine.h"
#include "report/Network.h"

#include <map>

namespace lathe::cli {

struct AnalyzedNetwork {
  std::vector<report::Part> parts;
  std::string command; // measures its operators
  std::string text;    // how the texts of points of a model begin; what follows are the inputs. Of a suite: empty
};

/// The network of --from-model or --suite; empty without them. `op` is --operator.
AnalyzedNetwork networkOf(OpsFlags &flags, const std::string &op);

/// The last verified time of a model in seconds, as `lathe bench` kept it. `named` is
/// AnalyzedNetwork::text.
std::optional<double> benchSeconds(store::Store &store, const std::string &named, const std::string &platform,
                                   int threads);

/// The ceilings of the platforms of a store, where they are this machine's and have been measured.
class Ceilings {
public:
  explicit Ceilings(store::Store &store) : store(store) {}
  /// Returns the ceilings of a platform by its key, or null.
  const lab::MachineCeilings *of(const std::string &platform);

private:
  store::Store &store;
  std::map<std::string, const lab::MachineCeilings *> byPlatform;
};

} // namespace lathe::cli
