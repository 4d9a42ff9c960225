#include "lab/machine/Topology.h"

#include "process/TemporaryDirectory.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

using namespace lathe;
using namespace lathe::lab;
using testing::ElementsAre;
using testing::HasSubstr;

/// Two sockets with two last-level caches each, which two cores of two threads share: CPUs 0 to 7 are the first threads of
/// all cores, CPUs 8 to 15 the second ones.
static std::vector<LogicalCpu> largeMachine() {
  std::vector<LogicalCpu> cpus;
  for (int number = 0; number < 16; ++number) {
    int core = number % 8;
    cpus.push_back({number, std::to_string(core), std::to_string(core / 2), std::to_string(core / 4)});
  }
  return cpus;
}

TEST(Topology, choosesCpusThatShareThePlace) {
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

TEST(Topology, declinesWithTheNumbers) {
  auto cpus = largeMachine();
  EXPECT_THAT(cpusOfBoth(cpus, 9, 8, "any").reason(),
              HasSubstr("9 and 8 threads beside each other need as many CPUs, this process may use 16"));
  EXPECT_THAT(cpusOfBoth(cpus, 1, 2, "core").reason(), HasSubstr("1 for core; expected 2"));
  EXPECT_THAT(cpusOfBoth(cpus, 2, 1, "cache").reason(), HasSubstr("0 for cache; expected 1"));
  EXPECT_THAT(cpusOfBoth({cpus[0]}, 1, 1, "any").reason(), HasSubstr("this process may use 1"));
}

TEST(Topology, isReadFromTheKernelsFolders) {
  std::vector<LogicalCpu> here = usableCpus();
  ASSERT_FALSE(here.empty());
  process::TemporaryDirectory folder("topology");
  auto write = [&](const std::string &file, const std::string &text) {
    std::filesystem::path path = folder.path / fmt::format("cpu{}", here[0].number) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  };
  write("topology/thread_siblings_list", "0,8");
  write("topology/physical_package_id", "1");
  write("cache/index0/level", "1");
  write("cache/index0/shared_cpu_list", "0,8");
  write("cache/index1/level", "3");
  write("cache/index1/shared_cpu_list", "0-3,8-11");
  LogicalCpu first = usableCpus(folder.path.string())[0];
  EXPECT_EQ(first.core, "0,8");
  EXPECT_EQ(first.cache, "0-3,8-11");
  EXPECT_EQ(first.socket, "1");
  if (here.size() > 1) { // the kernel says nothing about the second CPU: it shares the socket only
    LogicalCpu second = usableCpus(folder.path.string())[1];
    EXPECT_EQ(second.core, std::to_string(second.number));
    EXPECT_EQ(second.cache, std::to_string(second.number));
  }
}

TEST(Topology, bindsThisThreadForAWhile) {
  std::vector<LogicalCpu> before = usableCpus();
  {
    BoundToCpus bound({before.back().number});
    EXPECT_EQ(usableCpus().size(), 1u);
    EXPECT_EQ(usableCpus()[0].number, before.back().number);
  }
  EXPECT_EQ(usableCpus().size(), before.size());
  EXPECT_THROW(BoundToCpus({CPU_SETSIZE - 1}), Error);
}
