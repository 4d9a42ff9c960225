// The ceilings (highest measured speeds and bandwidths) of the machine, for analyses of the store.
#pragma once

#include "lab/machine/Machine.h"
#include "store/Store.h"

#include <map>

namespace lathe::jobs {

/// The ceilings of the platforms in a store. Only those of this machine are known, and only if they have been
/// measured.
class Ceilings {
public:
  explicit Ceilings(store::Store &store) : store(store) {}
  /// Returns the ceilings of the platform that the store identifies by this key; null if they are unknown.
  const lab::MachineCeilings *of(const std::string &platform);

private:
  store::Store &store;
  std::map<std::string, const lab::MachineCeilings *> byPlatform;
};

} // namespace lathe::jobs
