// Where the rows of a sweep keep packages and results until it is finished, so that the same command continues an interrupted one.
#pragma once

#include "process/TemporaryDirectory.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace lathe::jobs {

/// A folder of the user's cache for `identity`, which says everything that the rows depend on. Where there is no cache, or
/// another process sweeps the same, a temporary folder.
class RowFolder {
public:
  explicit RowFolder(const nlohmann::json &identity);
  /// Opens a folder that another process has made; for the steps of the rows.
  struct Made {
    std::string path;
  };
  explicit RowFolder(const Made &made) : folder(made.path) {}
  ~RowFolder();
  RowFolder(const RowFolder &) = delete;
  RowFolder &operator=(const RowFolder &) = delete;

  const std::string &path() const { return folder; }
  /// Path of row `number` without extension.
  std::string stem(size_t number) const;
  /// The file of the results of row `number` (jobs/sweep/RowFile.h).
  std::string file(size_t number) const { return stem(number) + ".json"; }
  /// Removes the folder: nothing is left to continue.
  void finish();

private:
  std::string folder;
  std::optional<process::TemporaryDirectory> temporary;
  int lock = -1;

  bool take(const std::string &path);
};

} // namespace lathe::jobs
