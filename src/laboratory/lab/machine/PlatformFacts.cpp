#include "lab/machine/PlatformFacts.h"

#include "lab/machine/Machine.h"

#include <gnu/libc-version.h>

namespace lathe::lab {

nlohmann::json platformFacts() {
  MachineCeilings machine = describeMachine();
  nlohmann::json caches = nlohmann::json::array();
  for (const MemoryLevel &level : machine.levels)
    if (level.bytes > 0) // memory has no size among them
      caches.push_back({{"name", level.name}, {"bytes", level.bytes}, {"shared_by_threads", level.sharedBy}});
  return {{"cpu", machine.cpu},
          {"architecture", machine.architecture},
          {"features", machine.features},
          {"caches", caches},
          {"cores", machine.cores},
          {"hardware_threads", machine.hardwareThreads},
          {"memory_bytes", machine.memoryBytes},
          {"governor", machine.governor},
          {"boost", machine.boost},
          {"hypervisor", machine.hypervisor},
          {"virtualized", machine.virtualized},
          {"kernel", machine.kernel},
          {"compiler", __VERSION__},
          {"libraries", {{"glibc", gnu_get_libc_version()}, {"llvm", LATHE_LLVM_VERSION}}}};
}

} // namespace lathe::lab
