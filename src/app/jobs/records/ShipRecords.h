// The archive of the best tuning records that comes with lathe (docs/records.md, "Shipped records").
#pragma once

#include "store/Store.h"

namespace lathe::jobs {

struct ShippedArchive {
  std::string file, machine; // `machine`: Target::key
  size_t records = 0;
  size_t added = 0, changed = 0, removed = 0; // since the archive was read
};

/// Writes the archive for this kind of machine in `folder`, with the fastest schedule of each task that was faster than
/// the default in turns. Records of the archive stay where the store has not compared their task.
ShippedArchive shipRecords(store::Store &store, const std::string &folder);

} // namespace lathe::jobs
