#include "lab/resources/HeldResources.h"
#include "lab/resources/CacheCompanion.h"
#include "lab/resources/Placement.h"
#include "machine/TopologyTesting.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::lab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// A recorded machine with frequencies and resctrl. Temporary folders are below the tree.
class HeldResourcesTest : public testing::Test {
protected:
  HeldResourcesTest() {
    tree.twoSockets();
    tree.frequencies({0, 1, 2, 3, 4, 5, 6, 7}, 800000, 3600000);
    tree.resctrl();
    std::filesystem::create_directory(tree.root + "/tmp");
    ::setenv("TMPDIR", (tree.root + "/tmp").c_str(), 1);
  }
  ~HeldResourcesTest() override { ::unsetenv("TMPDIR"); }

  Resources resolved(const ResourceRequest &request) const { return resourcesOf(request, readTopology(tree.root)); }
  std::string cap(int cpu) const {
    return tree.read(fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/scaling_max_freq", cpu));
  }
  /// Groups of resctrl that Lathe has made.
  std::vector<std::string> groups() const {
    std::vector<std::string> found;
    for (auto &entry : std::filesystem::directory_iterator(tree.root + "/sys/fs/resctrl"))
      if (entry.path().filename().string().starts_with("lathe-"))
        found.push_back(entry.path().filename().string());
    return found;
  }

  RecordedTree tree;
};

TEST_F(HeldResourcesTest, capsAndRestoresFrequencies) {
  HeldResources held(tree.root);
  held.hold(resolved({.frequencyCap = "2GHz"}));
  EXPECT_EQ(cap(0), "2000000\n");
  EXPECT_EQ(cap(7), "2000000\n");
  EXPECT_THAT(held.readBack(), ElementsAre(Pair("frequency_cap", "2000 MHz")));
  held.hold(resolved({.frequencyCap = "1GHz"}));
  EXPECT_EQ(cap(7), "1000000\n");
  held.hold(resolved({}));
  EXPECT_EQ(cap(0), "3600000\n");
  EXPECT_TRUE(held.readBack().empty());
}

TEST_F(HeldResourcesTest, capsTheSelectedCpusAlone) {
  HeldResources held(tree.root);
  Resources four = resolved({.cpus = "node:1", .frequencyCap = "2GHz"});
  four.request.cpus.clear(); // this machine may not have the CPUs
  held.hold(four);
  EXPECT_EQ(cap(3), "3600000\n");
  EXPECT_EQ(cap(4), "2000000\n");
}

TEST_F(HeldResourcesTest, writesOnceForCpusThatShareAPolicy) {
  std::string cpus = tree.root + "/sys/devices/system/cpu/";
  std::filesystem::remove_all(cpus + "cpu1/cpufreq");
  std::filesystem::create_directory_symlink(cpus + "cpu0/cpufreq", cpus + "cpu1/cpufreq");
  HeldResources held(tree.root);
  held.hold(resolved({.frequencyCap = "2GHz"}));
  EXPECT_EQ(cap(1), "2000000\n");
  held.release();
  EXPECT_EQ(cap(1), "3600000\n");
}

TEST_F(HeldResourcesTest, refusesALimitThatAnotherProcessHolds) {
  HeldResources one(tree.root), other(tree.root);
  one.hold(resolved({.frequencyCap = "2GHz"}));
  EXPECT_EQ(errorOf([&] { other.hold(resolved({.frequencyCap = "1GHz"})); }),
            "--frequency-cap 1GHz: " + std::filesystem::canonical(tree.root).string() +
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq: another process of Lathe holds a limit");
  EXPECT_EQ(cap(0), "2000000\n");
}

TEST_F(HeldResourcesTest, aRefusalLeavesNothingChanged) {
  std::string file = tree.root + "/sys/devices/system/cpu/cpu7/cpufreq/scaling_max_freq";
  Resources all = resolved({.frequencyCap = "2GHz"});
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/dev/full", file); // takes nothing
  HeldResources held(tree.root);
  EXPECT_THAT(errorOf([&] { held.hold(all); }), HasSubstr("does not take '2000000': No space left"));
  EXPECT_EQ(cap(0), "3600000\n");
  EXPECT_TRUE(held.readBack().empty());
}

TEST_F(HeldResourcesTest, refusesALimitThatIsIgnored) {
  std::string file = tree.root + "/sys/devices/system/cpu/cpu7/cpufreq/scaling_max_freq";
  Resources all = resolved({.frequencyCap = "2GHz"});
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/dev/null", file);
  EXPECT_THAT(errorOf([&] { HeldResources(tree.root).hold(all); }), HasSubstr("although 2000000 was written"));
}

TEST_F(HeldResourcesTest, givesAwayWays) {
  {
    HeldResources held(tree.root);
    held.hold(resolved({.cacheShare = "3ways"}));
    ASSERT_EQ(groups().size(), 1u);
    std::string group = "sys/fs/resctrl/" + groups()[0];
    EXPECT_EQ(tree.read(group + "/schemata"), "L3:0=7;1=7\n");
    EXPECT_EQ(tree.read(group + "/tasks"), std::to_string(::gettid()) + "\n");
    EXPECT_THAT(held.readBack(), ElementsAre(Pair("cache_ways", "L3:0=7;1=7")));
    held.hold(resolved({.cacheShare = "5ways"}));
    EXPECT_EQ(groups().size(), 2u); // processes of the first may go on
    EXPECT_EQ(tree.read("sys/fs/resctrl/tasks"), std::to_string(::gettid()) + "\n");
  }
  EXPECT_TRUE(groups().empty());
}

TEST_F(HeldResourcesTest, returnsToTheFormerGroup) {
  tree.write("sys/fs/resctrl/container/tasks", "");
  tree.write("proc/thread-self/cpu_resctrl_groups", "res:/container\nmon:/");
  HeldResources held(tree.root);
  held.hold(resolved({.cacheShare = "3ways"}));
  held.release();
  EXPECT_EQ(tree.read("sys/fs/resctrl/container/tasks"), std::to_string(::gettid()) + "\n");
}

TEST_F(HeldResourcesTest, saysWhatTheKernelSaysOfARefusedGroup) {
  Resources three = resolved({.cacheShare = "3ways"});
  tree.write("sys/fs/resctrl/info/last_cmd_status", "out of CLOSIDs");
  std::filesystem::remove(tree.root + "/sys/fs/resctrl/schemata");
  tree.write("sys/fs/resctrl/schemata", "MB:0=100");
  EXPECT_THAT(errorOf([&] { HeldResources(tree.root).hold(three); }), HasSubstr("schemata: has no line L3"));
  tree.write("sys/fs/resctrl/schemata", "L3:0=7ff");
  std::filesystem::permissions(tree.root + "/sys/fs/resctrl",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  std::string why = errorOf([&] { HeldResources(tree.root).hold(three); });
  std::filesystem::permissions(tree.root + "/sys/fs/resctrl", std::filesystem::perms::owner_all);
  if (::geteuid() != 0) { // root may write everywhere
    EXPECT_THAT(why, HasSubstr("cannot be made: Permission denied (out of CLOSIDs)"));
  }
  EXPECT_TRUE(groups().empty());
}

TEST_F(HeldResourcesTest, theNextProcessRestoresAfterAKill) {
  Resources both = resolved({.frequencyCap = "2GHz", .cacheShare = "3ways"});
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = ::fork();
  if (child == 0) {
    HeldResources held(tree.root);
    held.hold(both);
    (void)!::write(ready[1], "x", 1);
    while (true)
      ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(cap(0), "2000000\n");
  EXPECT_EQ(groups().size(), 1u);
  HeldResources next(tree.root);
  EXPECT_EQ(cap(0), "3600000\n");
  EXPECT_TRUE(groups().empty());
  next.hold(both); // the killed process's locks are gone
  EXPECT_EQ(cap(0), "2000000\n");
}

// The tests below use this machine.

TEST(Placement, bindsToACpuAndBack) {
  NumberList before = CpuAffinity::read();
  ASSERT_FALSE(before.empty());
  {
    CpuAffinity bound(NumberList{before.back()});
    EXPECT_THAT(CpuAffinity::read(), ElementsAre(before.back()));
    pid_t child = ::fork(); // inherits
    if (child == 0)
      ::_exit(CpuAffinity::read() == NumberList{before.back()} ? 0 : 1);
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(CpuAffinity::read(), before);
  EXPECT_THAT(errorOf([] { CpuAffinity(NumberList{8000}); }),
              HasSubstr("does not bind this process to the CPUs 8000: Invalid argument"));
  EXPECT_EQ(CpuAffinity::read(), before);
}

TEST(Placement, bindsMemoryToANodeAndBack) {
  Topology here = readTopology("");
  if (here.nodes.empty())
    GTEST_SKIP() << "this kernel has no memory nodes";
  int node = here.allowedNodes.front();
  std::string refused = errorOf([&] {
    MemoryNode bound(node);
    EXPECT_THAT(MemoryNode::read(), ElementsAre(node));
  });
  if (refused != "no error") // seccomp of a container
    GTEST_SKIP() << refused;
  EXPECT_TRUE(MemoryNode::read().empty());
  EXPECT_THAT(errorOf([] { MemoryNode(1000); }), HasSubstr("does not bind memory to node 1000: "));
}

TEST(CacheCompanion, readsOnItsCpuUntilItsEnd) {
  int cpu = CpuAffinity::read().back();
  NumberList before = CpuAffinity::read();
  CacheCompanion companion(cpu, 1 << 20);
  EXPECT_EQ(companion.readBack(), fmt::format("CPU {} reads 1048576 bytes", cpu));
  EXPECT_EQ(CpuAffinity::read(), before);
  companion.check();
}

TEST(CacheCompanion, keepsNoLockOfItsParent) {
  RecordedTree tree;
  tree.write("lock", "");
  int lock = ::open((tree.root + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  CacheCompanion companion(CpuAffinity::read().back(), 1 << 20);
  ::close(lock);
  int again = ::open((tree.root + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(::flock(again, LOCK_EX | LOCK_NB), 0);
  ::close(again);
}

TEST(CacheCompanion, saysThatItHasEnded) {
  EXPECT_THAT(errorOf([] { CacheCompanion(8000, 1 << 20); }), HasSubstr("does not bind this process to the CPUs 8000"));
  Resources resources;
  resources.request.cacheShare = "50%";
  int cpu = CpuAffinity::read().back();
  resources.companions.push_back({cpu, 1 << 20, 2 << 20});
  HeldResources held("");
  held.hold(resources);
  EXPECT_THAT(held.readBack(), ElementsAre(Pair("cache_companion", fmt::format("CPU {} reads 1048576 bytes", cpu))));
  std::string children = process::systemText(fmt::format("/proc/self/task/{}/children", ::gettid()));
  if (children.empty())
    GTEST_SKIP() << "this kernel does not list children";
  ::kill(std::atoi(children.c_str()), SIGKILL);
  std::string why;
  for (int tries = 0; tries < 1000 && (why.empty() || why == "no error"); ++tries) { // the kill takes a moment
    why = errorOf([&] { held.readBack(); });
    ::usleep(1000);
  }
  EXPECT_THAT(why, HasSubstr("nothing occupied its share of the cache"));
}

} // namespace
} // namespace lathe::lab
