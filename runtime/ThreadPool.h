// Threads with stable slots and a static split: the same slot always does the same share of a given count.
//
// The caller is slot 0. Workers spin for a short while after each job, then sleep, so that a run of many small kernels
// costs no system calls and an idle model costs nothing. With more slots than CPUs nobody spins. On a busy machine a
// slot whose thread is not running when the caller has finished its own share is done by the caller: who computes never
// changes what is computed. A thread that stays late although it is awake waits for the caller's own CPU, mostly, and
// is moved to another.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace lathe::runtime {

class ThreadPool {
public:
  /// Called once on each slot that has work: [begin, end) of the count.
  using Body = void (*)(void *context, int slot, int64_t begin, int64_t end);

  explicit ThreadPool(int slots);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int slots() const { return slotCount; }

  /// Splits [0, count) over min(count, slots) slots and returns when all are done. An exception of a body is thrown
  /// here, the lowest slot's if there are several. Not reentrant: one caller at a time, never from inside a body.
  void run(int64_t count, Body body, void *context) { run(0, count, body, context); }

  /// Runs [0, count), then [count, 2 * count) and so on, `stages` times: each split as `run` does and begun when all of
  /// the one before is done. With nothing to split, all in one call of the body.
  void runStages(int64_t stages, int64_t count, Body body, void *context);

private:
  struct Worker;
  int slotCount;
  bool spin; // enough CPUs for all
  std::vector<std::unique_ptr<Worker>> workers;

  alignas(64) std::atomic<uint32_t> pending{0}; // workers that have not finished the job
  std::atomic<uint32_t> callerSleeps{0};
  std::atomic<bool> failed{false}; // some worker has an error

  void run(int64_t first, int64_t count, Body body, void *context); // [first, first + count)
  void work(Worker &worker);
  void share(Worker &worker);
  void late(Worker &worker, uint32_t ticket);
  void finish();
};

} // namespace lathe::runtime
