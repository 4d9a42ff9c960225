// The process that measures an experiment at this moment, told so that another process can see whether it still does.
#pragma once

#include <cstdint>
#include <string>

namespace lathe::store {

struct Owner {
  std::string host; // its name
  std::string boot; // of the kernel, a new one with every start of the machine
  std::string pids; // the namespace that `pid` counts in
  int64_t pid = 0;
  int64_t started = 0; // clock ticks after the start of the machine: a later process may have the same pid

  static Owner self();
  /// False only where it is known to be gone: the machine was started anew, or its pid is nobody's or another one's.
  /// Of another host or namespace nobody here can tell, which counts as alive.
  bool mayLive() const;
  bool operator==(const Owner &) const = default;
};

} // namespace lathe::store
