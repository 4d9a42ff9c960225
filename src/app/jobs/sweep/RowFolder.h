// The folder for packages and results of a sweep's rows until it is finished, so that the same command can continue an
// interrupted sweep.
#pragma once

#include "process/TemporaryDirectory.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace lathe::jobs {

/// A folder of the user's cache for `identity`, which contains everything that the rows depend on. A temporary folder
/// if there is no cache, or if another process runs the same sweep.
class RowFolder {
public:
  explicit RowFolder(const nlohmann::json &identity);
  /// Opens a folder that another process has created; for the steps of the rows.
  struct Made {
    std::string path;
  };
  explicit RowFolder(const Made &made) : folder(made.path) {}
  ~RowFolder();
  RowFolder(const RowFolder &) = delete;
  RowFolder &operator=(const RowFolder &) = delete;

  const std::string &path() const { return folder; }
  /// The path of the files of row `number`, without extension.
  std::string stem(size_t number) const;
  /// The file of the results of row `number` (jobs/sweep/RowFile.h).
  std::string file(size_t number) const { return stem(number) + ".json"; }
  /// Removes the folder; call it when nothing is left to continue.
  void finish();

private:
  std::string folder;
  std::optional<process::TemporaryDirectory> temporary;
  int lock = -1;

  bool take(const std::string &path);
};

} // namespace lathe::jobs
