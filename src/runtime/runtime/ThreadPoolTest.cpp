#include "runtime/ThreadPool.h"
#include "runtime/Cpu.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <sched.h>

using namespace lathe;
using namespace lathe::runtime;

namespace {

/// Teams of these sizes, the slots of each behind those of the one before.
std::vector<ThreadPool::Slots> following(const std::vector<int> &sizes) {
  std::vector<ThreadPool::Slots> slots;
  for (int size : sizes)
    slots.push_back({slots.empty() ? 0 : slots.back().first + slots.back().count, size});
  return slots;
}

struct Job {
  std::vector<int> slotOf;
  int64_t fails = -1;
};

void mark(void *context, int slot, int64_t begin, int64_t end) {
  auto *job = static_cast<Job *>(context);
  for (int64_t i = begin; i < end; ++i) {
    require(i != job->fails, "unit {} fails", i);
    job->slotOf[static_cast<size_t>(i)] = slot;
  }
}

TEST(ThreadPoolTest, everyUnitOnceAndAlwaysTheSameSlot) {
  for (int slots : {1, 2, 3, 5, 16}) {
    ThreadPool pool(slots);
    for (int64_t count : {0, 1, 2, 3, 4, 15, 16, 17, 1000}) {
      std::vector<int> first;
      for (int repeat = 0; repeat < 20; ++repeat) {
        Job job{std::vector<int>(static_cast<size_t>(count), -1)};
        pool.run(count, mark, &job);
        if (repeat == 0)
          first = job.slotOf;
        ASSERT_EQ(job.slotOf, first);
      }
      for (size_t i = 0; i < first.size(); ++i) {
        ASSERT_GE(first[i], i ? first[i - 1] : 0);
        ASSERT_LT(first[i], slots);
      }
      if (count)
        EXPECT_EQ(first[0], 0); // the caller works too
    }
  }
}

TEST(ThreadPoolTest, sharesDifferByOneAtMost) {
  ThreadPool pool(7);
  Job job{std::vector<int>(100, -1)};
  pool.run(100, mark, &job);
  std::vector<int> share(7);
  for (int slot : job.slotOf)
    ++share[static_cast<size_t>(slot)];
  auto [least, most] = std::minmax_element(share.begin(), share.end());
  EXPECT_LE(*most - *least, 1);
}

TEST(ThreadPoolTest, workersWakeAfterSleeping) {
  ThreadPool pool(3);
  for (int pause : {0, 1, 5, 0, 2}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    Job job{std::vector<int>(30, -1)};
    pool.run(30, mark, &job);
    EXPECT_EQ(job.slotOf[29], 2);
  }
}

TEST(ThreadPoolTest, exceptionsReachTheCaller) {
  ThreadPool pool(4);
  for (int64_t unit : {0, 50, 99}) {
    Job job{std::vector<int>(100, -1), unit};
    try {
      pool.run(100, mark, &job);
      ADD_FAILURE();
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()), "unit " + std::to_string(unit) + " fails");
    }
    job.fails = -1;
    pool.run(100, mark, &job); // and the pool still works
  }
}

TEST(ThreadPoolTest, manyMoreSlotsThanCpus) {
  ThreadPool pool(40);
  std::atomic<int64_t> sum{0};
  for (int repeat = 0; repeat < 300; ++repeat)
    pool.run(
        64,
        [](void *context, int, int64_t begin, int64_t end) {
          *static_cast<std::atomic<int64_t> *>(context) += end - begin;
        },
        &sum);
  EXPECT_EQ(sum, 300 * 64);
}

/// Starts a thread on CPU `here`, moves it off, and returns the CPU on which it then runs.
int movedFrom(int here, const cpu_set_t &all) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(here, &one);
  EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0); // a thread that is made now inherits it
  std::atomic<int> ranOn{-1};
  std::atomic<bool> begin{false};
  std::thread other([&] {
    while (!begin)
      std::this_thread::yield();
    ranOn = ::sched_getcpu();
  });
  EXPECT_EQ(::pthread_setaffinity_np(other.native_handle(), sizeof all, &all), 0);
  begin = true;
  moveOffThisCpu(other.native_handle());
  cpu_set_t after;
  EXPECT_EQ(::pthread_getaffinity_np(other.native_handle(), sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&after, &all));
  while (ranOn < 0)
    ; // never gives its CPU away
  other.join();
  ::sched_setaffinity(0, sizeof all, &all);
  return ranOn;
}

// A thread that waits for the CPU of a busy thread runs elsewhere at once, and its affinity is unchanged afterwards.
// On a busy machine this thread may lose its CPU to the other one before it is moved, so one of ten attempts counts.
TEST(ThreadPoolTest, aThreadIsMovedToAnotherCpu) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2)
    GTEST_SKIP() << "one CPU";
  bool moved = false;
  for (int attempt = 0; attempt < 10 && !moved; ++attempt) {
    int here = ::sched_getcpu();
    moved = movedFrom(here, all) != here;
  }
  EXPECT_TRUE(moved);
}

/// Each unit of a stage reads what both neighbours wrote in the previous stage.
struct Waves {
  int64_t width;
  std::vector<int64_t> even, odd;
};

void wave(void *context, int, int64_t begin, int64_t end) {
  auto *waves = static_cast<Waves *>(context);
  int64_t width = waves->width;
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t stage = unit / width, i = unit % width;
    std::vector<int64_t> &to = stage % 2 ? waves->odd : waves->even, &from = stage % 2 ? waves->even : waves->odd;
    to[static_cast<size_t>(i)] =
        stage == 0
            ? i
            : (from[static_cast<size_t>((i + 1) % width)] * 3 + from[static_cast<size_t>((i + width - 1) % width)]) %
                  10007;
  }
}

TEST(ThreadPoolTest, stagesWaitForEachOther) {
  for (int64_t width : {1, 2, 5, 16})
    for (int64_t stages : {0, 1, 2, 200}) {
      std::vector<int64_t> expected;
      for (int slots : {1, 2, 3, 8}) {
        ThreadPool pool(slots);
        for (int repeat = 0; repeat < 5; ++repeat) {
          Waves waves{width, std::vector<int64_t>(static_cast<size_t>(width), -1),
                      std::vector<int64_t>(static_cast<size_t>(width), -1)};
          pool.runStages(stages, width, wave, &waves);
          std::vector<int64_t> &got = stages % 2 ? waves.even : waves.odd;
          if (expected.empty())
            expected = got;
          ASSERT_EQ(got, expected) << width << " units, " << stages << " stages, " << slots << " slots";
        }
      }
    }
}

TEST(ThreadPoolTest, noStageBeginsBehindAFailedOne) {
  ThreadPool pool(3);
  Job job{std::vector<int>(40, -1), 13};
  EXPECT_THROW(pool.runStages(4, 10, mark, &job), Error);
  EXPECT_EQ(job.slotOf[19], 2); // others of the stage are done
  for (size_t i = 20; i < 40; ++i)
    EXPECT_EQ(job.slotOf[i], -1);
}

/// Units of a team's job, and the slots of the pool that did them.
struct TeamJob {
  std::vector<Job> jobs;
  int repeats;
};

void markRepeatedly(void *context, int number, const ThreadPool::Team &team) {
  auto &all = *static_cast<TeamJob *>(context);
  Job &job = all.jobs[static_cast<size_t>(number)];
  for (int repeat = 0; repeat < all.repeats; ++repeat)
    team.run(static_cast<int64_t>(job.slotOf.size()), mark, &job);
}

TEST(ThreadPoolTest, teamsSplitAsPoolsOfTheirSize) {
  for (std::vector<int> sizes : std::vector<std::vector<int>>{{1}, {2, 1}, {1, 1, 1}, {3, 2, 2}, {1, 4}, {7}}) {
    ThreadPool pool(7);
    ThreadPool::Teams teams(pool, following(sizes));
    TeamJob all{std::vector<Job>(sizes.size(), Job{std::vector<int>(50, -1)}), 20};
    teams.run(markRepeatedly, &all);
    int first = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      ThreadPool alone(sizes[i]);
      Job job{std::vector<int>(50, -1)};
      alone.run(50, mark, &job);
      EXPECT_EQ(all.jobs[i].slotOf, job.slotOf) << "team " << i;
      EXPECT_EQ(teams[i].slots(), sizes[i]);
      EXPECT_EQ(teams[i].first(), first);
      first += sizes[i];
    }
    Job job{std::vector<int>(100, -1)};
    pool.run(100, mark, &job); // the pool works again as a whole
    EXPECT_EQ(job.slotOf[99], 6);
  }
}

/// Each team adds to `turn` only in its turn: both have to run at the same time.
struct Turns {
  std::atomic<int> turn{0};
};

TEST(ThreadPoolTest, teamsThatWaitForEachOther) {
  ThreadPool pool(4);
  ThreadPool::Teams teams(pool, following({2, 2}));
  for (int repeat = 0; repeat < 20; ++repeat) {
    Turns turns;
    teams.run(
        [](void *context, int number, const ThreadPool::Team &team) {
          auto &own = *static_cast<Turns *>(context);
          for (int round = 0; round < 10; ++round) {
            while (own.turn % 2 != number)
              std::this_thread::yield();
            team.run(2, [](void *, int, int64_t, int64_t) {}, nullptr);
            ++own.turn;
          }
        },
        &turns);
    ASSERT_EQ(turns.turn, 20);
  }
}

TEST(ThreadPoolTest, aTeamFailsAlone) {
  ThreadPool pool(5);
  ThreadPool::Teams teams(pool, following({2, 1, 2}));
  for (size_t failing : {size_t(0), size_t(1), size_t(2)})
    for (int64_t unit : {0, 25, 49}) {
      TeamJob all{std::vector<Job>(3, Job{std::vector<int>(50, -1)}), 1};
      all.jobs[failing].fails = unit;
      try {
        teams.run(markRepeatedly, &all);
        ADD_FAILURE() << "team " << failing;
      } catch (const Error &error) {
        EXPECT_EQ(std::string(error.what()), "unit " + std::to_string(unit) + " fails");
      }
      for (size_t i = 0; i < 3; ++i)
        if (i != failing)
          EXPECT_EQ(std::count(all.jobs[i].slotOf.begin(), all.jobs[i].slotOf.end(), -1), 0) << "team " << i;
      all.jobs[failing].fails = -1;
      teams.run(markRepeatedly, &all); // and nothing of the failure is left
    }
}

TEST(ThreadPoolTest, theLowestFailingTeamIsReported) {
  ThreadPool pool(3);
  ThreadPool::Teams teams(pool, following({1, 1, 1}));
  try {
    teams.run([](void *, int number, const ThreadPool::Team &) { require(number == 0, "team {}", number); }, nullptr);
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "team 1");
  }
}

/// With more slots than CPUs leaders come late, and the caller leads their teams.
TEST(ThreadPoolTest, teamsOfManyMoreSlotsThanCpus) {
  ThreadPool pool(40);
  ThreadPool::Teams teams(pool, following(std::vector<int>(20, 2)));
  TeamJob all{std::vector<Job>(20, Job{std::vector<int>(9, -1)}), 3};
  for (int repeat = 0; repeat < 100; ++repeat) {
    for (Job &job : all.jobs)
      job.slotOf.assign(9, -1);
    teams.run(markRepeatedly, &all);
    for (Job &job : all.jobs)
      ASSERT_EQ(job.slotOf, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 1}));
  }
}

TEST(ThreadPoolTest, teamsThatDoNotFitAreRefused) {
  ThreadPool pool(3);
  EXPECT_THROW(ThreadPool::Teams(pool, following({2, 2})), Error);
  EXPECT_THROW(ThreadPool::Teams(pool, following({2, 0})), Error);
}

TEST(ThreadPoolTest, spinsOnlyWhereEverySlotHasACpu) {
  auto spins = [](int slots, bool sharesCpus) {
    ThreadPool pool(slots, {}, sharesCpus);
    return ThreadPool::Teams(pool, following(std::vector<int>(size_t(slots), 1))).spins();
  };
  int cpus = availableCpus();
  EXPECT_TRUE(spins(cpus, false));
  EXPECT_FALSE(spins(cpus + 1, false));
  EXPECT_FALSE(spins(1, true));
  EXPECT_FALSE(spins(cpus, true));
}

TEST(ThreadPoolTest, absurdCountsAreRefused) {
  EXPECT_THROW(ThreadPool(0), Error);
  EXPECT_THROW(ThreadPool(1000000), Error);
}

} // namespace
