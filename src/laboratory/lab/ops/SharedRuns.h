// Shared memory in which a companion counts its runs while another process is measured (docs/provider-protocol.md).
//
// The laboratory makes it and passes its path on. The companion adds 1 after each run until it is asked to stop; the
// measured provider reads the number before and after each timed run.
#pragma once

#include "process/SharedMemory.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace lathe::lab {

class SharedRuns {
public:
  /// Makes new memory, or opens the memory of another process by its path (process/SharedMemory.h). Throws Error.
  SharedRuns() : memory(sizeof(Layout)) {}
  explicit SharedRuns(const std::string &path) : memory(path, sizeof(Layout)) {}

  const std::string &path() const { return memory.path(); }

  uint64_t runs() const { return shared()->runs.load(std::memory_order_acquire); }
  void add() { shared()->runs.fetch_add(1, std::memory_order_release); }
  /// Waits until the companion has done a run, for `seconds` at most. Returns false if it has not by then, or once
  /// hasEnded() is true.
  template <class HasEnded> bool awaitFirst(HasEnded hasEnded, double seconds) const {
    using Clock = std::chrono::steady_clock;
    auto until = Clock::now() + std::chrono::duration<double>(seconds);
    while (runs() == 0) {
      if (hasEnded() || Clock::now() > until)
        return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }
  bool mustStop() const { return shared()->stop.load(std::memory_order_relaxed) != 0; }
  void stop() { shared()->stop.store(1, std::memory_order_relaxed); }
  /// Sets the number of runs to 0 and takes the request to stop back. No companion may run.
  void reset() {
    shared()->runs.store(0);
    shared()->stop.store(0);
  }

private:
  /// The layout of the memory: part of the protocol. Both numbers have a cache line of their own.
  struct Layout {
    alignas(64) std::atomic<uint64_t> runs; // at byte 0
    alignas(64) std::atomic<uint32_t> stop; // at byte 64; not 0: the companion ends
  };
  static_assert(sizeof(Layout) == 128 && std::atomic<uint64_t>::is_always_lock_free);

  Layout *shared() const { return static_cast<Layout *>(memory.data()); }

  process::SharedMemory memory;
};

} // namespace lathe::lab
