// A source of schedules (compile/ScheduleSource.h) that reads the tuning records of an archive.
#pragma once

#include "compile/ScheduleSource.h"

#include <memory>
#include <string>

namespace lathe {

/// The schedules that were faster than the default schedule, from an uncompressed archive for one kind of machine
/// (`lathe records ship`, docs/records.md). A kernel with open extents that has no record uses the record of the same
/// kernel with extent 1. Throws Error as RecordArchive does.
std::shared_ptr<const ScheduleSource> archiveSchedules(const std::string &path);

} // namespace lathe
