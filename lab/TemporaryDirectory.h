// A folder for the life of an object.
#pragma once

#include "process/Child.h"
#include "support/Interrupt.h"

#include <filesystem>
#include <optional>

namespace lathe::lab {

/// "<TMPDIR>/lathe-<purpose>-XXXXXX", removed with the object and when a signal ends the process (support/Interrupt.h).
/// A process that was killed removes nothing: the next object removes what is left of it. The file `.lock` in a folder
/// is locked while its process lives. Throws Error.
class TemporaryDirectory {
public:
  explicit TemporaryDirectory(const char *purpose);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
  std::filesystem::path path;

  /// `command` with its own temporary files in this folder, so that they go with it: a process that is killed removes
  /// none. Commands that run elsewhere (with a prefix) keep the folder they have there.
  process::Command keepingFilesHere(process::Command command) const;

private:
  int lock = -1;
  std::optional<Cleanup> cleanup;
};

} // namespace lathe::lab
