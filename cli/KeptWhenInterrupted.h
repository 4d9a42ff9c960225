// What a verb has measured so far, reported when a signal ends it.
#pragma once

#include "cli/print/Progress.h"
#include "support/Interrupt.h"

#include <functional>
#include <mutex>
#include <optional>

namespace lathe::cli {

/// Holds a copy of the newest `Measured`, and calls `report` with it when a signal ends the process while this object
/// lives. `report` runs on another thread, after everything that was started later is cleaned up.
template <class Measured> class KeptWhenInterrupted {
public:
  explicit KeptWhenInterrupted(std::function<void(const Measured &)> report)
      : report(std::move(report)), cleanup([this] {
          std::lock_guard lock(mutex); // held elsewhere only to copy
          if (!soFar)
            return;
          Progress::endLine();
          this->report(*soFar);
        }) {}
  void update(const Measured &measured) {
    std::lock_guard lock(mutex);
    soFar = measured;
  }
  /// The verb reports from here on.
  void forget() {
    std::lock_guard lock(mutex);
    soFar.reset();
  }

private:
  std::function<void(const Measured &)> report;
  std::mutex mutex;
  std::optional<Measured> soFar;
  Cleanup cleanup; // last: its action uses the others
};

} // namespace lathe::cli
