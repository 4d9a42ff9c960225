// Tables and JSON of `lathe records`.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/records/Records.h"

namespace lathe::cli {

/// "12 tuning records".
std::string recordsText(size_t count);

Table recordsTable(const RecordList &list);
nlohmann::json recordsJson(const RecordList &list);
Table triedTable(const std::vector<TriedTask> &tasks);
nlohmann::json triedJson(const std::vector<TriedTask> &tasks);

} // namespace lathe::cli
