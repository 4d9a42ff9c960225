// A thread pool with stable slots (one per thread) and a static split: a slot always gets the same share of a count.
//
// The caller is slot 0. Workers spin for a short time after each job and then sleep, so a run of many small kernels
// makes no system calls and an idle pool uses no CPU. With more slots than CPUs, or if other threads compute on the
// same CPUs, no worker spins. If a worker has not started its share when the caller has finished its own, the caller
// computes that share, too; results do not depend on it. A worker that repeatedly comes late although it is awake
// probably waits for the CPU of the caller and is moved to another CPU.
//
// Slots may also work in disjoint teams at the same time. Each team has its own leader, counters and failure, and works
// like a pool of its size. Several threads may call teams of one pool at the same time.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace lathe::runtime {

class ThreadPool {
  struct Worker;
  /// Counters of a team's job. The pool owns these objects, because workers still read them after the job is over.
  struct alignas(64) Counters {
    std::atomic<uint32_t> pending{0}; // number of workers that have not finished the job
    std::atomic<uint32_t> leaderSleeps{0};
    std::atomic<bool> failed{false}; // true once a worker has caught an exception
  };

public:
  /// Function that computes a slot's share of a job: called once for each slot that has work, with the slot's range
  /// [begin, end). `slot` is the index within the team.
  using Body = void (*)(void *context, int slot, int64_t begin, int64_t end);

  /// A set of slots of the pool that work together. The calling thread is slot 0 of the team, its leader; the other
  /// slots are workers.
  class Team {
  public:
    int slots() const { return static_cast<int>(workers.size()) + 1; }
    /// Index in the pool of the slot of the team's leader.
    int first() const { return firstSlot; }

    /// Splits [0, count) over min(count, slots) slots and returns when all are done. Rethrows the
    /// exception of a body, of the lowest slot if there are several. Not reentrant: one caller at a
    /// time, and never from a body.
    void run(int64_t count, Body body, void *context) const { run(0, count, body, context); }

    /// Runs the stages [0, count), [count, 2 * count) and so on, `stages` times. Each stage is split as in `run` and
    /// begins when the previous stage is done on all slots. If there is nothing to split, one call of `body` gets all
    /// stages.
    void runStages(int64_t stages, int64_t count, Body body, void *context) const;

  private:
    friend class ThreadPool;
    Team(Counters &counters, int firstSlot, bool spin) : counters(&counters), firstSlot(firstSlot), spin(spin) {}
    Counters *counters;
    std::vector<Worker *> workers; // workers of the slots 1, 2, ... of the team
    int firstSlot;
    bool spin; // true if every slot of the pool has a CPU for itself: workers then spin before they sleep

    // Splits [first, first + count). The other functions are its steps, for a job of `used` slots.
    void run(int64_t first, int64_t count, Body body, void *context) const;
    void start(int used, int64_t first, int64_t count, Body body, void *context) const;
    bool isDone() const;
    void help(int used) const;
    void finish(int used, std::exception_ptr error) const;
    void late(Worker &worker, uint32_t ticket) const;
  };

  /// `count` slots of a pool from slot `first` on.
  struct Slots {
    int first = 0, count = 0;
  };

  /// Keeps slots for the calling thread while it lives: waits until no other Use has any of them.
  class Use {
  public:
    Use(ThreadPool &pool, const Slots &slots);
    ~Use();
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;

  private:
    ThreadPool &pool;
    Slots slots;
  };

  /// Disjoint teams of a pool that work at the same time. While the teams work, the pool runs nothing else on their
  /// slots.
  class Teams {
  public:
    /// Makes a team of each entry of `slots`. Throws Error for a team without slots, a slot that two teams have, and a
    /// slot that the pool does not have.
    Teams(ThreadPool &pool, std::span<const Slots> slots);

    size_t count() const { return teams.size(); }
    const Team &operator[](size_t number) const { return teams[number]; }

    /// The number of the team that the caller of `run` leads: the one of the lowest slots.
    size_t ofCaller() const { return order[0]; }
    /// Calls work(context, i, team i) for each team at the same time, on the team's leader.
    /// Returns when all are done and rethrows the exception of the lowest team that has one. If a leader has not begun
    /// when the caller is done, the caller leads that team, too. Work may wait for work of other teams, because every
    /// leader begins when it gets a CPU.
    void run(void (*work)(void *context, int number, const Team &team), void *context) const;
    /// Leads each team whose leader has not begun. Only for work of the caller's team that waits for the other teams.
    void help() const { leaders.help(static_cast<int>(count())); }
    bool spins() const { return leaders.spin; }

  private:
    std::vector<Team> teams;
    std::vector<size_t> order; // numbers of the teams by their slots, rising
    Team leaders;
  };

  /// Starts a pool; the calling thread of a job is one of its slots. `cpus`: the CPU to which the thread of each slot
  /// is bound, except that of a team's caller; empty: none is bound. `sharesCpus`: other threads compute on the same
  /// CPUs at the same time, so that no worker spins. Throws Error for more than 1024 slots, another number of CPUs, and
  /// a CPU that the process may not use.
  explicit ThreadPool(int slots, std::span<const int> cpus = {}, bool sharesCpus = false);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// The team that has all slots of the pool.
  const Team &all() const { return everyone; }
  /// The team of some slots, which the caller leads. Throws Error for slots that the pool does not have.
  Team team(const Slots &slots);
  /// Throws Error in a child process that fork() made after the pool: the pool's threads exist in the parent alone.
  void requireThreads() const;
  int slots() const { return everyone.slots(); }
  void run(int64_t count, Body body, void *context) { everyone.run(count, body, context); }
  void runStages(int64_t stages, int64_t count, Body body, void *context) {
    everyone.runStages(stages, count, body, context);
  }

private:
  std::vector<std::unique_ptr<Worker>> workers;
  Counters ofLeaders, ofAll;      // counters of teams of leaders, and of others, whose leader is slot 0
  std::vector<std::mutex> usedBy; // by slot, for Use
  unsigned forks;                 // number of forks of the process before the pool was made
  Team everyone;

  void work(Worker &worker);
  static void share(Worker &worker);
  void finish();
};

} // namespace lathe::runtime
