// Reports what a verb has measured so far when a signal ends the verb.
#pragma once

#include "jobs/Progress.h"
#include "support/Interrupt.h"

#include <functional>
#include <mutex>
#include <optional>

namespace lathe::jobs {

/// Holds a copy of the newest `Measured`, and calls `report` with it if a signal ends the process while this object
/// lives. `report` runs on another thread, after the clean-ups of everything that was started later. Nothing is taken
/// any more once clean-ups have begun.
template <class Measured> class KeptWhenInterrupted {
public:
  explicit KeptWhenInterrupted(std::function<void(const Measured &)> report)
      : report(std::move(report)), cleanup([this] {
          std::lock_guard lock(mutex); // other holders of the mutex only copy
          if (!soFar)
            return;
          Progress::endLine();
          this->report(*soFar);
        }) {}
  void update(const Measured &measured) {
    haltIfInterrupted();
    std::lock_guard lock(mutex);
    soFar = measured;
  }
  /// Makes this object report nothing any more, because the verb itself reports from now on.
  void forget() {
    std::lock_guard lock(mutex);
    soFar.reset();
  }

private:
  std::function<void(const Measured &)> report;
  std::mutex mutex;
  std::optional<Measured> soFar;
  Cleanup cleanup; // declared last, because its action uses the other members
};

} // namespace lathe::jobs
