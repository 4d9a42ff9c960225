#include "compile/ArchiveSchedules.h"

#include "support/Error.h"
#include "support/JsonError.h"
#include "support/Text.h"
#include "support/archive/RecordArchive.h"

namespace lathe {

static std::optional<TaskSchedules::Entry> fasterIn(const RecordArchive &archive, const std::string &task) {
  std::optional<std::string_view> line = archive.line(task);
  if (!line)
    return std::nullopt;
  try {
    nlohmann::json record = parseDocument(*line).at("tuning");
    if (record.at("verdict") != "faster")
      return std::nullopt;
    std::string day = record.at("measured").get<std::string>().substr(0, 10);
    return TaskSchedules::Entry{record.at("schedule"), fmt::format("the record of {} in {}", day, archive.path)};
  } catch (const nlohmann::json::exception &error) {
    fail("{}: the record of task '{}': {}", archive.path, printable(task), messageOf(error));
  }
}

std::shared_ptr<const ScheduleSource> archiveSchedules(const std::string &path) {
  auto lookUp = [archive = std::make_shared<RecordArchive>(path)](const std::string &task) {
    std::optional<TaskSchedules::Entry> found = fasterIn(*archive, task);
    if (!found)
      if (std::optional<std::string> closed = withoutOpenExtents(task))
        found = fasterIn(*archive, *closed);
    return found;
  };
  return std::make_shared<TaskSchedules>(path, lookUp, true);
}

} // namespace lathe
