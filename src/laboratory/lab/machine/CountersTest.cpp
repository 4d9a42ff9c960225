#include "lab/machine/Counters.h"

#include "runtime/ThreadPool.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace lathe;
using namespace lathe::lab;

/// A reading as the kernel would return it.
static CounterReading reading(int64_t cpuNs, uint64_t cycles, uint64_t instructions, uint64_t enabled,
                              uint64_t running) {
  CounterReading made;
  made.cpuNs = cpuNs;
  EXPECT_TRUE(addGroup(made, std::vector<uint64_t>{2, enabled, running, cycles, instructions}, {true, true, false}));
  return made;
}

TEST(Counters, differences) {
  Counts counts = between(reading(1000, 5, 7, 100, 100), reading(3500, 305, 1007, 200, 200));
  EXPECT_EQ(counts.cpuNs, 2500);
  EXPECT_EQ(counts.cycles, 300);
  EXPECT_EQ(counts.instructions, 1000);
  EXPECT_FALSE(counts.cacheMisses); // not in the group
  EXPECT_FALSE(counts.multiplexed);
}

TEST(Counters, whatOthersHadMeanwhileIsRefused) {
  Counts counts = between(reading(0, 0, 0, 100, 100), reading(2000, 300, 900, 1100, 1080));
  EXPECT_EQ(counts.cpuNs, 2000);
  EXPECT_FALSE(counts.cycles);
  EXPECT_FALSE(counts.instructions);
  EXPECT_TRUE(counts.multiplexed);
  EXPECT_TRUE(between(reading(0, 0, 0, 100, 10), reading(2000, 300, 900, 1100, 1010)).cycles) // lost before it began
      << "only the interval itself matters";
}

TEST(Counters, groupsOfThreadsAdd) {
  CounterReading sum;
  for (uint64_t cycles : {300, 500})
    EXPECT_TRUE(addGroup(sum, std::vector<uint64_t>{1, 10, 10, cycles}, {true, false, false}));
  EXPECT_EQ(sum.values[0], 800u);
  EXPECT_EQ(sum.enabledNs, 20u);
  EXPECT_FALSE(sum.values[1]);
}

TEST(Counters, wordsThatAreNoGroup) {
  CounterReading sum;
  EXPECT_FALSE(addGroup(sum, {}, {true, false, false})); // end of file: an event in error
  EXPECT_FALSE(addGroup(sum, std::vector<uint64_t>{2, 10, 10, 300, 400}, {true, false, false}));
  EXPECT_FALSE(sum.values[0]);
}

TEST(Counters, ofWhichNoneCounts) {
  Counts counts = between(CounterReading{}, CounterReading{.cpuNs = 5, .values = {}});
  EXPECT_EQ(counts.cpuNs, 5);
  EXPECT_FALSE(counts.cycles || counts.instructions || counts.cacheMisses || counts.multiplexed);
}

TEST(Counters, sums) {
  Counts sum{.cpuNs = 1, .cycles = 2, .instructions = 3, .cacheMisses = 4};
  sum += Counts{.cpuNs = 10, .cycles = 20, .instructions = {}, .cacheMisses = 40};
  EXPECT_EQ(sum, (Counts{.cpuNs = 11, .cycles = 22, .instructions = {}, .cacheMisses = 44}));
  EXPECT_EQ(countsFromJson(toJson(sum)), sum);
  Counts shared;
  shared.cpuNs = 1;
  shared.multiplexed = true;
  sum += shared;
  shared.cpuNs = 12;
  EXPECT_EQ(countsFromJson(toJson(sum)), shared);
  EXPECT_THROW(countsFromJson({{"cpu_ns", "much"}}), nlohmann::json::exception);
}

TEST(Counters, failuresSayWhatTheyMean) {
  EXPECT_NE(counterFailure(ENOENT).find("ENOENT, this machine"), std::string::npos);
  EXPECT_NE(counterFailure(EACCES).find("EACCES, "), std::string::npos);
  EXPECT_NE(counterFailure(ENOSYS).find("no such call"), std::string::npos);
  EXPECT_NE(counterFailure(EMFILE).find("Too many open files"), std::string::npos);
}

namespace {
/// Fresh memory, touched a page at a time.
struct Pages {
  static constexpr int64_t count = 4096;
  size_t size = size_t(::sysconf(_SC_PAGESIZE));
  char *memory = static_cast<char *>(
      ::mmap(nullptr, count *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  Pages() { ::madvise(memory, count * size, MADV_NOHUGEPAGE); }
  ~Pages() { ::munmap(memory, count * size); }
  static void touch(void *context, int, int64_t begin, int64_t end) {
    auto *pages = static_cast<Pages *>(context);
    for (int64_t i = begin; i < end; ++i)
      pages->memory[size_t(i) * pages->size] = 1;
  }
};
} // namespace

/// The path through the kernel, with counters that exist on every machine: page faults of threads that existed before
/// and of threads that started later, in a group with other events.
TEST(Counters, theKernelsOwnEvents) {
  runtime::ThreadPool early(2);
  Counters counters(CounterEvents{{{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
                                   {"nothing", PERF_TYPE_SOFTWARE, 12345}, // skipped and reported
                                   {"clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}}});
  ASSERT_NE(counters.uncounted().find("nothing: perf_event_open: "), std::string::npos) << counters.uncounted();
  if (!counters.read().values[0])
    GTEST_SKIP() << counters.uncounted();
  runtime::ThreadPool late(2);
  for (runtime::ThreadPool *pool : {&early, &late}) {
    Pages pages;
    ASSERT_NE(pages.memory, MAP_FAILED);
    CounterReading before = counters.read();
    pool->run(Pages::count, Pages::touch, &pages);
    Counts counts = between(before, counters.read());
    EXPECT_GE(counts.cycles.value_or(0), Pages::count); // takes the place of the first event
    EXPECT_LT(counts.cycles.value_or(0), Pages::count + 100);
    EXPECT_FALSE(counts.instructions);
    EXPECT_TRUE(counts.cacheMisses);
    EXPECT_FALSE(counts.multiplexed);
  }
}

static void add(void *context, int, int64_t begin, int64_t end) {
  volatile int64_t sum = 0;
  for (int64_t i = begin; i < end; ++i)
    sum = sum + i;
  (void)context;
}

TEST(Counters, processorTimeOfAllThreads) {
  runtime::ThreadPool pool(2);
  Counters counters;
  CounterReading before = counters.read();
  pool.run(20'000'000, add, nullptr);
  Counts counts = between(before, counters.read());
  EXPECT_GT(counts.cpuNs.value_or(0), 1'000'000); // twenty million additions through memory
}

/// Counts threads that existed before the counters, and threads that started later.
TEST(Counters, instructionsOfAllThreads) {
  runtime::ThreadPool early(2);
  Counters counters;
  if (!counters.uncounted().empty())
    GTEST_SKIP() << counters.uncounted();
  runtime::ThreadPool late(2);
  for (runtime::ThreadPool *pool : {&early, &late}) {
    constexpr int64_t additions = 20'000'000;
    CounterReading before = counters.read();
    pool->run(additions, add, nullptr);
    Counts counts = between(before, counters.read());
    if (counts.multiplexed)
      GTEST_SKIP() << "another program has the counters";
    EXPECT_GT(counts.instructions.value_or(0), 3 * additions); // load, add and store at least
    EXPECT_GT(counts.cycles.value_or(0), 0);
    EXPECT_TRUE(counts.cacheMisses.has_value());
  }
}
