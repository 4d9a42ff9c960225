// Reads a store repeatedly while other processes write it, without the right to change it.
#pragma once

#include "store/Store.h"

namespace lathe::store {

/// Opens an existing store (a file, or a database on a server) for reading: no call can change its content.
/// Throws Error if there is no file, if another process has locked it for `busySeconds`, for an older schema
/// (which only a writing command upgrades), and for the errors of Store's constructor. Reading throws Error if a
/// server is lost for `busySeconds`.
Store openReadOnly(const std::string &path, double busySeconds = 2);

/// The end of the notice that openForReading prints for a file that this process cannot write.
inline constexpr std::string_view readAsItIs = "is read-only for this user: read as it is now";
/// Opens an existing store for a command that only reads. Like Store's constructor, it upgrades an older schema. A
/// file that this process cannot write is opened like in openReadOnly, or copied privately if its schema is older;
/// then a notice is printed.
Store openForReading(const std::string &path);

/// A number that changes when another connection has changed the store's content (Connection::changeCount).
int64_t changeCount(Store &store);

struct TuningCount {
  size_t records = 0, passed = 0;
  bool operator==(const TuningCount &) const = default;
};
/// The numbers of tuning records in a store, by uuid of the experiment that made them. Experiments without
/// tuning records are missing.
std::map<std::string, TuningCount> tuningCounts(Store &store);

} // namespace lathe::store
