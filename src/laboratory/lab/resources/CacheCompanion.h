// A program beside a measurement that occupies a part of the last-level cache, for machines without resctrl.
#pragma once

#include "process/Child.h"

#include <cstdint>
#include <memory>
#include <string>

namespace lathe::lab {

/// A child process that reads a buffer again and again on one CPU, while the object lives, so that the buffer occupies
/// as many bytes of the CPU's last-level cache, about: the cache decides which lines it keeps, and the companion uses
/// bandwidth of cache and memory for lines that it has lost. Throws Error if the process does not start.
class CacheCompanion {
public:
  /// Returns when the companion has read the whole buffer twice.
  CacheCompanion(int cpu, int64_t bytes);
  CacheCompanion(CacheCompanion &&) = default;

  /// The CPU on which the companion may run and its bytes, as it states them: "CPU 1 reads 16777216 bytes".
  const std::string &readBack() const { return stated; }
  /// Throws Error if the companion has ended, so that nothing occupied the cache.
  void check();
  double cpuSeconds() const { return child->usage().cpuSeconds; }

private:
  std::unique_ptr<process::Child> child;
  std::string stated;
};

} // namespace lathe::lab
