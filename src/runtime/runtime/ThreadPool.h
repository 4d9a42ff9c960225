// A thread pool with stable slots and a static split: a slot always gets the same share of a count.
//
// The caller is slot 0. Workers spin for a short time after each job and then sleep, so a run of
// many small kernels makes no system calls and an idle pool uses no CPU. With more slots than CPUs
// no worker spins. If a worker has not started its share when the caller has finished its own, the
// caller computes that share, too; results do not depend on it. A worker that repeatedly comes late
// although it is awake probably waits for the CPU of the caller and is moved to another CPU.
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
  /// Called once for each slot that has work, with its range [begin, end).
  using Body = void (*)(void *context, int slot, int64_t begin, int64_t end);

  explicit ThreadPool(int slots);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int slots() const { return slotCount; }

  /// Splits [0, count) over min(count, slots) slots and returns when all are done. Rethrows the
  /// exception of a body, of the lowest slot if there are several. Not reentrant: one caller at a
  /// time, and never from a body.
  void run(int64_t count, Body body, void *context) { run(0, count, body, context); }

  /// Runs [0, count), then [count, 2 * count) and so on, `stages` times. Each stage is split as in
  /// `run` and begins when the previous stage is done on all slots. If there is nothing to split,
  /// one call of the body gets all stages.
  void runStages(int64_t stages, int64_t count, Body body, void *context);

private:
  struct Worker;
  int slotCount;
  bool spin; // there are enough CPUs for all slots
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
