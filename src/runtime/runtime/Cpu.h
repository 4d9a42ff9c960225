// Features of this CPU, and the floating-point mode of kernels.
#pragma once

#include <cstdint>

#include <pthread.h>

namespace lathe::runtime {

/// Bits of package::CpuFeature that this CPU has and the operating system enables.
uint64_t cpuFeatures();

/// Number of CPUs this process may run on.
int availableCpus();

/// Makes the scheduler move `thread` away from this thread's CPU, if it may run on others. Its CPU
/// affinity is unchanged afterwards.
void moveOffThisCpu(pthread_t thread);

/// Sets the floating-point mode of the calling thread while the object lives: denormals are flushed to zero, results
/// are rounded to nearest, exceptions are masked. The destructor restores the previous mode.
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
