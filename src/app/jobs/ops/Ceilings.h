// The ceilings of the machine, for analyses of the store.
#pragma once

#include "lab/machine/Machine.h"
#include "store/Store.h"

#include <map>

namespace lathe::jobs {

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

} // namespace lathe::jobs
