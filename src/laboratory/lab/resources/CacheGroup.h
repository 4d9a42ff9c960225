// A share of the last-level cache by the kernel's resctrl (Cache Allocation Technology and its like): the measured
// processes may allocate in some of the cache's ways.
#pragma once

#include "process/ChangedSystem.h"

#include <string>

namespace lathe::lab {

/// The ways of the L3 that resctrl can give away.
struct CacheWays {
  int all = 0, least = 1; // number of ways; the fewest that a group may have
  std::string reason;     // why there are none; "": there are
};
CacheWays cacheWays(const std::string &root);

/// A group of resctrl with the lowest `ways` ways of every L3, while the object lives. Processes that a thread starts
/// while it is in the group stay in it. Ways are not exclusive: processes outside of the group use them, too. Throws
/// Error with the kernel's reason.
class CacheGroup {
public:
  CacheGroup(process::ChangedSystem &system, const std::string &root, int ways);
  ~CacheGroup();
  CacheGroup(const CacheGroup &) = delete;
  CacheGroup &operator=(const CacheGroup &) = delete;

  /// Moves the calling thread into the group.
  void enter();
  /// Moves the calling thread back to its former group.
  void leave();
  /// The ways of each cache as the kernel states them, "L3:0=1f;1=1f".
  const std::string &readBack() const { return stated; }

private:
  process::ChangedSystem &system;
  std::string base, folder, formerTasks, stated;

  std::string reasonOf(const std::string &message) const;
};

} // namespace lathe::lab
