#include "jobs/ops/RowLog.h"

#include "jobs/Common.h"
#include "support/PendingFile.h"

#include <algorithm>
#include <filesystem>

namespace lathe::jobs {

using nlohmann::json;

RowLog::RowLog(const std::string &path) : path(path) {
  if (path.empty())
    return;
  require(!PendingFile::isStream(path),
          "--log {}: is a stream, expected a file: rows that it holds are not measured again", path);
  std::string text;
  if (std::filesystem::exists(path))
    text = readFile(path);
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    json row = json::parse(line, nullptr, false);
    // A line that a kill has cut is measured again. A line that is not a row means that the file belongs to somebody
    // else.
    bool whole = row.is_object() && row.contains("key") && row["key"].is_string() && row.contains("kind") &&
                 row.contains("points");
    bool cut = row.is_discarded() && line[0] == '{';
    require(whole || cut || line.empty(), "{}: '{:.40}' is not a row of lathe ops bench", path, line);
    if (whole)
      rows[row["key"].get<std::string>()] = row;
    begin = end + 1;
  }
  file.open(path, std::ios::app);
  require(file.good(), "{}: cannot be written", path);
  if (!text.empty() && text.back() != '\n')
    file << '\n';
}

const json *RowLog::find(const std::string &key) const {
  auto found = rows.find(key);
  return found == rows.end() ? nullptr : &found->second;
}

void RowLog::add(const json &row) {
  if (path.empty())
    return;
  file << row.dump() << std::endl;
  require(file.good(), "{}: cannot be written", path);
}

} // namespace lathe::jobs
