// Changes of settings of the system that outlive a process, such as a limit of frequencies below /sys. They are listed
// in the temporary folder of the process that makes them, so that the next process can undo what a killed one left
// (process/TemporaryDirectory.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lathe::process {

/// A file that has another content, or a folder that was made.
struct SystemChange {
  std::string path;
  std::optional<std::string> before = {}; // content of the file before the change; empty: `path` is a folder
  std::optional<std::string> set = {};    // content that was read back after the change; empty: not read yet

  /// Undoes the change. A file whose content is no longer `set` stays: somebody else has changed it since. Returns why
  /// the change stays although nobody else has changed it; "": it does not.
  std::string undo() const;
};

/// Writes the list of changes into the folder, whole or not at all. Throws Error.
void listChanges(const std::filesystem::path &folder, const std::vector<SystemChange> &changes);
/// Undoes the changes that the folder lists, the newest first. Says on standard error which ones it cannot undo.
void undoListed(const std::filesystem::path &folder);
/// Undoes the changes, the newest first, and says on standard error which ones it cannot undo.
void undoAll(const std::vector<SystemChange> &changes);

/// The content of a file of the system without the newline at its end; "" if it cannot be read.
std::string systemText(const std::string &path);
/// Writes `text` and a newline to the file in one write, as files of the system expect it. Throws Error with the
/// system's reason.
void writeSystemText(const std::string &path, const std::string &text);

} // namespace lathe::process
