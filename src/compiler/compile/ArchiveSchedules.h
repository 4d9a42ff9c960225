// Schedules from the tuning records of an archive.
#pragma once

#include "compile/ScheduleSource.h"

#include <memory>
#include <string>

namespace lathe {

/// The schedules in an uncompressed archive for one kind of machine (`lathe records ship`, docs/records.md) that were
/// faster than the default schedule. A kernel with open extents that has no record uses the record of the same kernel
/// with extent 1. Throws Error as RecordArchive does.
std::shared_ptr<const ScheduleSource> archiveSchedules(const std::string &path);

} // namespace lathe
