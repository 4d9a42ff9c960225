// Changes of settings of the system for the lifetime of an object.
#pragma once

#include "process/SystemChange.h"
#include "process/TemporaryDirectory.h"
#include "support/Interrupt.h"

#include <mutex>

namespace lathe::process {

/// Changes files of the system, and undoes every change: at its end, when a signal ends the process
/// (support/Interrupt.h), and after a SIGKILL by the next process that makes a temporary folder. The constructor undoes
/// what killed processes have left.
class ChangedSystem {
public:
  ChangedSystem();
  ~ChangedSystem();
  ChangedSystem(const ChangedSystem &) = delete;
  ChangedSystem &operator=(const ChangedSystem &) = delete;

  /// Writes `text` to an existing file. Returns its content afterwards. Throws Error with the system's reason; the file
  /// is unchanged then.
  std::string write(const std::string &path, const std::string &text);
  /// Makes a folder. Throws Error with the system's reason.
  void makeFolder(const std::string &path);
  /// Undoes the change of `path` now.
  void undo(const std::string &path);

private:
  TemporaryDirectory folder{"held"};
  std::mutex mutex; // protects the list from the clean-up after a signal
  std::vector<SystemChange> changes;
  Cleanup cleanup;

  void begin(SystemChange change);
  void forgetLast();
};

} // namespace lathe::process
