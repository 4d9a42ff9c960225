// The folder for packages and results of a sweep's rows until it is finished, so that the same command can continue an
// interrupted sweep.
#pragma once

#include "process/TemporaryDirectory.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace lathe::jobs {

/// A folder in the user's cache for the sweep with this `identity`, which contains everything that the rows depend on.
/// A temporary folder if there is no cache, or if another process runs the same sweep.
class RowFolder {
public:
  explicit RowFolder(const nlohmann::json &identity);
  /// Names a folder that another process has created. Processes for steps of rows open it.
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
  /// The path of the file with the results of row `number` (jobs/sweep/RowFile.h).
  std::string file(size_t number) const { return stem(number) + ".json"; }
  /// Removes the folder; call it when the sweep is finished.
  void finish();

private:
  std::string folder;
  std::optional<process::TemporaryDirectory> temporary;
  int lock = -1;

  bool take(const std::string &path);
};

} // namespace lathe::jobs
