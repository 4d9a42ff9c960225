#include "runtime/ThreadPool.h"

#include "runtime/Cpu.h"
#include "runtime/Waiting.h"
#include "support/Error.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <numeric>
#include <system_error>

namespace lathe::runtime {
namespace {

// Meant to be longer than a thread takes to wake up on a CPU of its own and shorter than the scheduler takes to see
// that one CPU has two threads and another none.
constexpr std::chrono::microseconds patience{200};

/// Share of `slot` when `count` is cut into `active` pieces.
int64_t boundary(int64_t count, int active, int slot) {
  return static_cast<int64_t>(static_cast<__int128>(count) * slot / active);
}

} // namespace

/// The job lies in the worker's own line, beside its ticket: a fork moves one line to each worker and nothing else.
struct alignas(64) ThreadPool::Worker {
  // The share of the job; written by the leader before it raises the ticket, read by the thread that has claimed it.
  Body body = nullptr;
  void *context = nullptr;
  int64_t begin = 0, end = 0;
  Counters *counters = nullptr;
  int slot = 0;    // in the team
  Word ticket{0};  // number of jobs given to this slot so far
  Word claimed{0}; // last job that was begun: by this worker or, if it is late, by the leader
  Word sleeps{0};  // 1 while the worker sleeps or is about to; the leader clears it when it wakes it
  std::atomic<bool> quit{false};
  alignas(64) Counters led;        // of the teams that this slot leads
  alignas(64) Counters ledLeaders; // of the teams of leaders that this slot leads
  std::exception_ptr error;
  std::thread thread;
  // Used by the leader alone: since when it computes every share of this slot, and the last job in which it did.
  std::chrono::steady_clock::time_point lateSince;
  uint32_t lastLate = 0;
};

ThreadPool::ThreadPool(int slots, std::span<const int> cpus, bool sharesCpus)
    : usedBy(static_cast<size_t>(std::max(slots, 1))), forks(forksSoFar()),
      everyone(ofAll, 0, !sharesCpus && slots <= availableCpus()) {
  require(slots >= 1 && slots <= 1024, "{} threads requested, expected 1 to 1024", slots);
  require(cpus.empty() || cpus.size() == static_cast<size_t>(slots), "{} CPUs for {} slots, expected as many",
          cpus.size(), slots);
  // Workers block all signals, so that the program's own threads handle them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    for (int slot = 1; slot < slots; ++slot) {
      workers.push_back(std::make_unique<Worker>());
      Worker &worker = *workers.back();
      worker.thread = std::thread([this, &worker] { work(worker); });
      if (!cpus.empty())
        bindToCpu(worker.thread.native_handle(), cpus[static_cast<size_t>(slot)]);
    }
  } catch (const std::system_error &error) {
    workers.pop_back(); // the one that did not start
    size_t number = workers.size() + 2;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    finish();
    fail("cannot start thread {} of {}: {}", number, slots, error.what());
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    finish();
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (auto &worker : workers)
    everyone.workers.push_back(worker.get());
}

ThreadPool::~ThreadPool() { finish(); }

void ThreadPool::requireThreads() const {
  require(forks == forksSoFar(), "the threads of this context are in the process that made it: make contexts and pools "
                                 "after fork()");
}

ThreadPool::Team ThreadPool::team(const Slots &slots) {
  require(slots.first >= 0 && slots.count >= 1 && slots.count <= this->slots() - slots.first,
          "{} slots from slot {} on of a pool of {}", slots.count, slots.first, this->slots());
  Team made(slots.first ? workers[static_cast<size_t>(slots.first) - 1]->led : ofAll, slots.first, everyone.spin);
  const auto first = everyone.workers.begin() + slots.first;
  made.workers.assign(first, first + (slots.count - 1));
  return made;
}

ThreadPool::Use::Use(ThreadPool &pool, const Slots &slots) : pool(pool), slots(slots) {
  for (int slot = slots.first; slot < slots.first + slots.count; ++slot) // rising: no two uses wait for each other
    pool.usedBy[static_cast<size_t>(slot)].lock();
}

ThreadPool::Use::~Use() {
  for (int slot = slots.first; slot < slots.first + slots.count; ++slot)
    pool.usedBy[static_cast<size_t>(slot)].unlock();
}

void ThreadPool::finish() {
  if (forks != forksSoFar()) { // the threads are in another process
    for (auto &worker : workers) {
      worker->thread.detach();
      worker.release();
    }
    workers.clear();
    return;
  }
  for (auto &worker : workers) {
    worker->quit.store(true);
    worker->ticket.fetch_add(1);
    wake(worker->ticket);
  }
  for (auto &worker : workers)
    worker->thread.join();
  workers.clear();
}

void ThreadPool::work(Worker &worker) {
  uint32_t seen = 0;
  while (true) {
    auto called = [&] { return worker.ticket.load(std::memory_order_acquire) != seen; };
    if (!called() && !(everyone.spin && spinUntil(called))) {
      while (true) {
        // Announce the sleep, then look again: the leader raises the ticket first and looks at `sleeps` second.
        worker.sleeps.store(1);
        if (worker.ticket.load() != seen)
          break;
        sleepWhile(worker.ticket, seen);
      }
      worker.sleeps.store(0);
    }
    seen = worker.ticket.load(std::memory_order_acquire);
    if (worker.quit.load())
      return;
    uint32_t before = seen - 1;
    if (!worker.claimed.compare_exchange_strong(before, seen))
      continue; // too late: the leader did it
    Counters &counters = *worker.counters;
    share(worker);
    if (counters.pending.fetch_sub(1) == 1 && counters.leaderSleeps.load())
      wake(counters.pending);
  }
}

/// The leader has done the share of `ticket` for a worker that should have been running.
void ThreadPool::Team::late(Worker &worker, uint32_t ticket) const {
  if (!spin)
    return; // threads are expected to wait for each other's CPUs
  auto now = std::chrono::steady_clock::now();
  if (worker.lastLate + 1 != ticket)
    worker.lateSince = now;
  worker.lastLate = ticket;
  if (now - worker.lateSince < patience)
    return;
  moveOffThisCpu(worker.thread.native_handle());
  worker.lateSince = now;
}

/// Runs the share of a worker's slot.
void ThreadPool::share(Worker &worker) {
  try {
    worker.body(worker.context, worker.slot, worker.begin, worker.end);
  } catch (...) {
    worker.error = std::current_exception();
    worker.counters->failed.store(true, std::memory_order_relaxed);
  }
}

void ThreadPool::Team::runStages(int64_t stages, int64_t count, Body body, void *context) const {
  if (stages <= 0 || count <= 0)
    return;
  if (workers.empty() || count == 1)
    return body(context, 0, 0, stages * count);
  for (int64_t stage = 0; stage < stages; ++stage)
    run(stage * count, count, body, context);
}

void ThreadPool::Team::run(int64_t first, int64_t count, Body body, void *context) const {
  if (count <= 0)
    return;
  int used = static_cast<int>(std::min<int64_t>(count, slots()));
  if (used == 1)
    return body(context, 0, first, first + count);
  start(used, first, count, body, context);
  std::exception_ptr error;
  try {
    body(context, 0, first, first + boundary(count, used, 1));
  } catch (...) {
    error = std::current_exception();
  }
  help(used);
  finish(used, error);
}

/// Gives the workers their shares.
void ThreadPool::Team::start(int used, int64_t first, int64_t count, Body body, void *context) const {
  counters->pending.store(static_cast<uint32_t>(used - 1));
  for (int slot = 1; slot < used; ++slot) {
    Worker &worker = *workers[slot - 1];
    worker.body = body;
    worker.context = context;
    worker.begin = first + boundary(count, used, slot);
    worker.end = first + boundary(count, used, slot + 1);
    worker.counters = counters;
    worker.slot = slot;
    worker.ticket.fetch_add(1);
    if (worker.sleeps.exchange(0))
      wake(worker.ticket);
  }
}

bool ThreadPool::Team::isDone() const { return counters->pending.load(std::memory_order_acquire) == 0; }

/// A worker that has not begun when the leader is done has no CPU, so the leader computes its share under the worker's
/// slot.
void ThreadPool::Team::help(int used) const {
  for (int slot = 1; slot < used && !isDone(); ++slot) {
    Worker &worker = *workers[slot - 1];
    uint32_t ticket = worker.ticket.load(std::memory_order_relaxed), before = ticket - 1;
    if (worker.claimed.load(std::memory_order_relaxed) == before &&
        worker.claimed.compare_exchange_strong(before, ticket)) {
      share(worker);
      counters->pending.fetch_sub(1);
      late(worker, ticket);
    }
  }
}

/// Waits for the workers and rethrows the first error: the leader's, or that of the lowest slot.
void ThreadPool::Team::finish(int used, std::exception_ptr error) const {
  auto done = [this] { return isDone(); };
  if (!done() && !(spin && spinUntil(done))) {
    counters->leaderSleeps.store(1);
    while (uint32_t left = counters->pending.load())
      sleepWhile(counters->pending, left);
    counters->leaderSleeps.store(0);
  }
  if (counters->failed.load(std::memory_order_relaxed)) { // otherwise the workers' lines stay with them
    counters->failed.store(false, std::memory_order_relaxed);
    for (int slot = 1; slot < used; ++slot) {
      std::exception_ptr &other = workers[slot - 1]->error;
      if (other && !error)
        error = other;
      other = nullptr;
    }
  }
  if (error)
    std::rethrow_exception(error);
}

ThreadPool::Teams::Teams(ThreadPool &pool, std::span<const Slots> slots)
    : order(slots.size()), leaders(pool.ofLeaders, 0, pool.everyone.spin) {
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return slots[a].first < slots[b].first; });
  teams.assign(slots.size(), leaders);
  int end = 0; // of the slots that teams have so far
  for (size_t number : order) {
    require(slots[number].first >= end, "slot {} is in two teams", slots[number].first);
    teams[number] = pool.team(slots[number]);
    end = slots[number].first + slots[number].count;
    if (int first = slots[number].first; number != order[0])
      leaders.workers.push_back(pool.everyone.workers[static_cast<size_t>(first) - 1]);
    else if (first > 0)
      leaders.counters = &pool.workers[static_cast<size_t>(first) - 1]->ledLeaders;
  }
}

void ThreadPool::Teams::run(void (*work)(void *, int, const Team &), void *context) const {
  struct Job {
    const Teams &teams;
    void (*work)(void *, int, const Team &);
    void *context;
  } job{*this, work, context};
  leaders.run(
      static_cast<int64_t>(count()),
      [](void *context, int, int64_t begin, int64_t end) {
        auto &job = *static_cast<Job *>(context);
        for (int64_t place = begin; place < end; ++place) {
          size_t number = job.teams.order[static_cast<size_t>(place)];
          job.work(job.context, static_cast<int>(number), job.teams[number]);
        }
      },
      &job);
}

} // namespace lathe::runtime
