// Features of this CPU, and the floating-point mode in which kernels run.
#pragma once

#include <cstdint>

#include <pthread.h>

namespace lathe::runtime {

/// Bits of package::CpuFeature for features that this CPU has and the operating system enables.
uint64_t cpuFeatures();

/// Number of CPUs on which this process may run.
int availableCpus();

/// Makes the scheduler move `thread` away from the calling thread's CPU, if `thread` may run on others. Its CPU
/// affinity is unchanged afterwards.
void moveOffThisCpu(pthread_t thread);

/// Binds `thread` to a CPU. Throws Error if the process may not use it.
void bindToCpu(pthread_t thread, int cpu);

/// A number that differs between a process and a child that fork() makes of it after the first call.
unsigned forksSoFar();

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
