#include "lab/machine/CpusOfBoth.h"

#include <gmock/gmock.h>

using namespace lathe;
using namespace lathe::lab;
using testing::ElementsAre;
using testing::HasSubstr;

/// Two sockets with two last-level caches each, which two cores of two threads share: CPUs 0 to 7 are the first threads of
/// all cores, CPUs 8 to 15 the second ones.
static Topology largeMachine() {
  Topology machine;
  for (int number = 0; number < 16; ++number) {
    int core = number % 8, cache = core / 2 * 2;
    machine.cpus.push_back({.number = number,
                            .package = core / 4,
                            .siblings = {core, core + 8},
                            .cacheCpus = {cache, cache + 1, cache + 8, cache + 9}});
    machine.allowedCpus.push_back(number);
  }
  return machine;
}

TEST(CpusOfBoth, choosesCpusThatShareThePlace) {
  auto cpus = largeMachine();
  auto beside = [&](int measured, int others, const std::string &place) {
    auto both = cpusOfBoth(cpus, measured, others, place);
    EXPECT_TRUE(both.done()) << place << ": " << both.reason();
    EXPECT_EQ(both->measured.size(), size_t(measured));
    return both->beside;
  };
  EXPECT_THAT(beside(1, 1, "core"), ElementsAre(8));
  EXPECT_THAT(beside(1, 1, "cache"), ElementsAre(1));
  EXPECT_THAT(beside(1, 2, "cache"), ElementsAre(1, 9));
  EXPECT_THAT(beside(1, 1, "socket"), ElementsAre(2));
  EXPECT_THAT(beside(1, 3, "machine"), ElementsAre(4, 5, 6));
  EXPECT_THAT(beside(2, 2, "core"), ElementsAre(8, 9));
  EXPECT_EQ(cpusOfBoth(cpus, 1, 1, "any")->place, "cache");
  EXPECT_EQ(cpusOfBoth(cpus, 2, 1, "any")->place, "socket"); // both cores of the cache are in use
  EXPECT_EQ(cpusOfBoth(cpus, 4, 4, "any")->place, "machine");
  EXPECT_EQ(cpusOfBoth(cpus, 8, 8, "any")->place, "core");
}

TEST(CpusOfBoth, declinesWithTheNumbers) {
  auto cpus = largeMachine();
  EXPECT_THAT(cpusOfBoth(cpus, 9, 8, "any").reason(),
              HasSubstr("9 and 8 threads beside each other need as many CPUs, this process may use 16"));
  EXPECT_THAT(cpusOfBoth(cpus, 1, 2, "core").reason(), HasSubstr("1 for core; expected 2"));
  EXPECT_THAT(cpusOfBoth(cpus, 2, 1, "cache").reason(), HasSubstr("0 for cache; expected 1"));
  cpus.allowedCpus = {3};
  EXPECT_THAT(cpusOfBoth(cpus, 1, 1, "any").reason(), HasSubstr("this process may use 1"));
}

TEST(CpusOfBoth, anUnknownCacheIsSharedWithNobody) {
  Topology machine = largeMachine();
  for (LogicalCpu &cpu : machine.cpus)
    cpu.cacheCpus.clear();
  EXPECT_EQ(cpusOfBoth(machine, 1, 1, "any")->place, "socket");
}
