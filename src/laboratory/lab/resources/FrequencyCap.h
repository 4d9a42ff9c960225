// A limit of the frequency of CPUs, by the kernel's cpufreq.
#pragma once

#include "machine/NumberList.h"
#include "process/ChangedSystem.h"

#include <string>
#include <vector>

namespace lathe::lab {

/// The limits that make sense for some CPUs, in kHz: from their highest lowest frequency to their highest one.
struct FrequencyRange {
  int64_t least = 0, most = 0;
};
/// Reads the range below `root`. Throws Error if the kernel shows no frequencies of a CPU.
FrequencyRange frequencyRange(const std::string &root, const NumberList &cpus);

/// Limits the frequency of CPUs while the object lives. Throws Error if the system refuses, or if another process holds
/// a limit of the same CPUs.
class FrequencyCap {
public:
  FrequencyCap(process::ChangedSystem &system, const std::string &root, const NumberList &cpus, int64_t khz);
  ~FrequencyCap();
  FrequencyCap(const FrequencyCap &) = delete;
  FrequencyCap &operator=(const FrequencyCap &) = delete;

  /// The limit as the kernel states it, such as "2000 MHz"; it may round. With different limits: "1800, 2000 MHz".
  const std::string &readBack() const { return stated; }

private:
  process::ChangedSystem &system;
  std::vector<std::string> files; // the limit of each policy
  std::vector<int> locks;
  std::string stated;

  void release();
};

} // namespace lathe::lab
