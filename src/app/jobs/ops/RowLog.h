// A file of finished rows of `lathe ops bench`, one JSON object a line.
#pragma once

#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <string>

namespace lathe::jobs {

/// Rows in the file are not measured again; new rows are appended as they finish.
class RowLog {
public:
  /// Reads the file if it exists. "": no file. Throws Error for a stream, and for a file that holds anything else.
  explicit RowLog(const std::string &path);
  /// The row that has this "key"; null if there is none.
  const nlohmann::json *find(const std::string &key) const;
  void add(const nlohmann::json &row);

private:
  std::string path;
  std::map<std::string, nlohmann::json> rows;
  std::ofstream file;
};

} // namespace lathe::jobs
