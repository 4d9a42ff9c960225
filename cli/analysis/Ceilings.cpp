#include "cli/analysis/Ceilings.h"

#include "machine/System.h"
#include "report/RooflineShares.h"

#include <filesystem>

namespace lathe::cli {

const lab::MachineCeilings *Ceilings::of(const std::string &platform) {
  auto [known, isNew] = byPlatform.try_emplace(platform, nullptr);
  if (isNew && std::filesystem::exists(machineRecordPath()) &&
      report::isMachine(store.platform(platform), lab::describeMachine()))
    known->second = &lab::machineCeilings();
  return known->second;
}

} // namespace lathe::cli
