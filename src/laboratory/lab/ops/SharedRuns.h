// Shared memory in which a companion counts its runs while another process is measured (docs/provider-protocol.md).
//
// The laboratory makes it and passes its path on. The companion adds 1 after each run until it is asked to stop; the
// measured provider reads the number before and after each timed run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace lathe::lab {

class SharedRuns {
public:
  /// Makes new shared memory, which exists as long as this process or a process that has opened it. Throws Error.
  SharedRuns();
  /// Opens the memory of another process by its path. Throws Error with the path.
  explicit SharedRuns(const std::string &path);
  ~SharedRuns();
  SharedRuns(const SharedRuns &) = delete;
  SharedRuns &operator=(const SharedRuns &) = delete;

  /// Path with which processes of the same user open the memory; "" for opened memory.
  const std::string &path() const { return place; }

  uint64_t runs() const { return shared->runs.load(std::memory_order_acquire); }
  void add() { shared->runs.fetch_add(1, std::memory_order_release); }
  bool mustStop() const { return shared->stop.load(std::memory_order_relaxed) != 0; }
  void stop() { shared->stop.store(1, std::memory_order_relaxed); }
  /// Sets the number of runs to 0 and takes the request to stop back. No companion may run.
  void reset();

private:
  /// The layout of the memory: part of the protocol. Both numbers have a cache line of their own.
  struct Layout {
    alignas(64) std::atomic<uint64_t> runs; // at byte 0
    alignas(64) std::atomic<uint32_t> stop; // at byte 64; not 0: the companion ends
  };
  static_assert(sizeof(Layout) == 128 && std::atomic<uint64_t>::is_always_lock_free);

  void map(int descriptor);

  int descriptor = -1; // of new memory
  Layout *shared = nullptr;
  std::string place;
};

} // namespace lathe::lab
