#include "jobs/ops/Ceilings.h"

#include "report/RooflineShares.h"

namespace lathe::jobs {

const lab::MachineCeilings *Ceilings::of(const std::string &platform) {
  auto [known, isNew] = byPlatform.try_emplace(platform, nullptr);
  if (isNew && report::isMachine(store.platform(platform), lab::describeMachine()))
    known->second = lab::keptCeilings();
  return known->second;
}

} // namespace lathe::jobs
