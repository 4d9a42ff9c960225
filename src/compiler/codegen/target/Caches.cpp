#include "codegen/target/Caches.h"

namespace lathe {

Caches cachesOf(const Target &target, int threads) {
  const MachineFacts &machine = target.machine;
  return {machine.bytesPerCore(0), machine.bytesPerCore(1), machine.readRate(1), machine.memoryRate(threads),
          machine.readAheadCost};
}

} // namespace lathe
