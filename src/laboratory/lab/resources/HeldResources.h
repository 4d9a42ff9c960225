// Holds the resources of one measurement after the other.
#pragma once

#include "lab/resources/Resources.h"
#include "process/ChangedSystem.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace lathe::lab {

class CacheGroup;

/// Holds resources for the calling thread, and for the threads and processes that it starts. Its end releases them, and
/// so do a signal and, after a SIGKILL, the next process (process/ChangedSystem.h). All calls are from one thread.
class HeldResources {
public:
  /// Undoes what a killed process has left.
  explicit HeldResources(std::string root = systemRoot());
  ~HeldResources();
  HeldResources(const HeldResources &) = delete;
  HeldResources &operator=(const HeldResources &) = delete;

  bool holds(const Resources &wanted) const;
  /// Holds `wanted` instead of what was held before. Does nothing if it is held already. Throws Error, which begins
  /// with the flag, if the system refuses a part; then nothing is held.
  void hold(const Resources &wanted);
  void release();

  /// What the system states of the resources that are held, by name: "cpus", "memory_node", "frequency_cap",
  /// "cache_ways", "cache_companion". Throws Error if something is not held any more.
  std::map<std::string, std::string> readBack();
  /// Processor time that companions have used, which is no disturbance.
  double cpuSeconds() const;

private:
  struct Held;

  std::string root;
  std::optional<process::ChangedSystem> system; // from the first change on
  /// By number of ways. A group stays to the end, because processes that were started in it may go on later.
  std::map<int, std::unique_ptr<CacheGroup>> groups;
  std::unique_ptr<Held> held;
  double cpuOfEnded = 0; // processor seconds of companions that have ended
};

} // namespace lathe::lab
