// Schedules from the tuning records of an archive.
#pragma once

#include "compile/ScheduleSource.h"

#include <memory>
#include <optional>
#include <string>

namespace lathe {

/// The task of the same kernel with extent 1 instead of open extents (`?`). Nothing if no extent is open, or if an open
/// one is the height or width of a convolution (`?56`), on which its code depends.
std::optional<std::string> withoutOpenExtents(const std::string &task);

/// The schedules in an uncompressed archive for one kind of machine (`lathe records ship`, docs/records.md) that were
/// faster than the default schedule. A kernel with open extents that has no record uses the record of the same kernel
/// with extent 1. Throws Error as RecordArchive does.
std::shared_ptr<const ScheduleSource> archiveSchedules(const std::string &path);

} // namespace lathe
