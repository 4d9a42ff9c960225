// Temporary folders with the lifetime of an object.
#pragma once

#include "process/Child.h"
#include "support/Interrupt.h"

#include <filesystem>
#include <optional>

namespace lathe::process {

/// Removes the temporary folders that killed processes left, and undoes the changes of the system that the folders list
/// (process/SystemChange.h). Does nothing without a folder for temporary files.
void removeLeftOvers();

/// A temporary folder "<TMPDIR>/lathe-<purpose>-XXXXXX". The destructor removes it, and so does a signal that ends the
/// process (support/Interrupt.h). A killed process leaves its folder; the next object of this class removes it
/// (removeLeftOvers). The process holds a lock on the file `.lock` in the folder while it lives. Throws Error.
class TemporaryDirectory {
public:
  explicit TemporaryDirectory(const char *purpose);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
  std::filesystem::path path;

  /// Returns `command` with its temporary files redirected into this folder, so that they are
  /// removed with it even if the process is killed. Commands with a prefix run elsewhere and keep
  /// their own folder.
  Command keepingFilesHere(Command command) const;

private:
  int lock = -1;
  std::optional<Cleanup> cleanup;
};

} // namespace lathe::process
