// What this CPU can do, and the floating-point mode kernels run in.
#pragma once

#include <cstdint>

#include <pthread.h>

namespace lathe::runtime {

/// Bits of package::CpuFeature that this CPU has and the operating system lets programs use.
uint64_t cpuFeatures();

/// CPUs this process may run on.
int availableCpus();

/// Has the scheduler move `thread` now, if it waits for this thread's CPU and may run on others; where it may run stays
/// as it was.
void moveOffThisCpu(pthread_t thread);

/// While alive, this thread computes with denormals flushed to zero, rounding to nearest and exceptions masked; then
/// the caller's mode is back.
class KernelFloatMode {
public:
  KernelFloatMode();
  ~KernelFloatMode();
  KernelFloatMode(const KernelFloatMode &) = delete;
  KernelFloatMode &operator=(const KernelFloatMode &) = delete;

private:
  uint64_t saved;
};

} // namespace lathe::runtime
