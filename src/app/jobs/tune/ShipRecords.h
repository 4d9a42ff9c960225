// Writes the archive of tuning records that comes with lathe (docs/records.md, "Shipped records").
#pragma once

#include "store/Store.h"

namespace lathe::jobs {

struct ShippedChanges {
  size_t records = 0; // in the archive now
  size_t added = 0, changed = 0, removed = 0;
};

/// Writes the best records of `store` for a kind of machine, a Target::key, into the archive `file`: of each task the
/// fastest schedule that was faster than the default in turns. Records of the archive stay where the store has not
/// compared their task.
ShippedChanges shipRecords(store::Store &store, const std::string &machine, const std::string &file);

} // namespace lathe::jobs
