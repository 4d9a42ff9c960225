// Shared memory by which instances of models in several threads and processes agree on a window: the time during which
// all of them run.
#pragma once

#include "process/SharedMemory.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace lathe::lab {

/// Nanoseconds on a clock that all processes of the machine share.
inline int64_t sharedNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class SharedWindow {
public:
  /// Makes new memory, or opens the memory of another process by its path (process/SharedMemory.h). Throws Error.
  SharedWindow() : memory(sizeof(Layout)) {}
  explicit SharedWindow(const std::string &path) : memory(path, sizeof(Layout)) {}

  const std::string &path() const { return memory.path(); }

  /// Declares that one more instance runs. The window begins when `expected` instances do.
  void enter(uint32_t expected) {
    if (shared()->running.fetch_add(1) + 1 == expected)
      shared()->begin.store(sharedNanoseconds());
  }
  /// The time (sharedNanoseconds) at which the window began; 0: it has not begun.
  int64_t begin() const { return shared()->begin.load(std::memory_order_acquire); }
  bool mustStop() const { return shared()->stop.load(std::memory_order_relaxed) != 0; }
  /// Ends all instances before their next run, because one of them has failed.
  void stop() { shared()->stop.store(1, std::memory_order_relaxed); }
  /// Prepares the next window. No instance may run.
  void reset() {
    shared()->running.store(0);
    shared()->begin.store(0);
    shared()->stop.store(0);
  }

private:
  struct Layout {
    alignas(64) std::atomic<uint32_t> running; // number of instances that run
    alignas(64) std::atomic<int64_t> begin;
    alignas(64) std::atomic<uint32_t> stop;
  };
  static_assert(std::atomic<int64_t>::is_always_lock_free);

  Layout *shared() const { return static_cast<Layout *>(memory.data()); }

  process::SharedMemory memory;
};

} // namespace lathe::lab
