// Identifies the process that measures an experiment, so that another process can check whether it
// is still alive.
#pragma once

#include <cstdint>
#include <string>

namespace lathe::store {

struct Owner {
  std::string host; // name of the host on which the process runs
  std::string boot; // boot id of the kernel, new with every start of the machine
  std::string pids; // pid namespace of the process
  int64_t pid = 0;
  // start time of the process in clock ticks after boot; tells processes with equal pids apart
  int64_t started = 0;

  static Owner self();
  /// True unless the owning process is known to be gone: the machine was restarted, or the pid is unused or
  /// belongs to another process. A process on another host or in another pid namespace cannot be checked and
  /// counts as alive.
  bool mayLive() const;
  bool operator==(const Owner &) const = default;
};

} // namespace lathe::store
