#include "lab/resources/Resources.h"
#include "machine/TopologyTesting.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::lab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Resources resolved(const RecordedTree &tree, const ResourceRequest &request) {
  return resourcesOf(request, readTopology(tree.root));
}

std::string refused(const RecordedTree &tree, const ResourceRequest &request) {
  return errorOf([&] { resolved(tree, request); });
}

TEST(Resources, nothingRequestedIsNothingHeld) {
  RecordedTree tree;
  tree.threaded();
  Resources none = resolved(tree, {});
  EXPECT_TRUE(none.none());
  EXPECT_EQ(none.text(), "");
  EXPECT_TRUE(none.request.arguments().empty());
}

TEST(Resources, namesTheCpusThatASelectionMeans) {
  RecordedTree tree;
  tree.hybrid();
  EXPECT_EQ(resolved(tree, {.cpus = "performance"}).text(), "cpus performance (0-3)");
  EXPECT_EQ(resolved(tree, {.cpus = "0-3"}).text(), "cpus 0-3");
  EXPECT_THAT(refused(tree, {.cpus = "8"}), StartsWith("--cpus 8: this machine has no CPU 8"));
}

TEST(Resources, knowsMemoryNodes) {
  RecordedTree tree;
  tree.twoSockets();
  Resources one = resolved(tree, {.memoryNode = "1"});
  EXPECT_EQ(one.text(), "memory node 1");
  EXPECT_THAT(one.request.arguments(), ElementsAre("--memory-node", "1"));
  EXPECT_THAT(refused(tree, {.memoryNode = "2"}), HasSubstr("expected a node of this machine with memory (0-1)"));
  EXPECT_THAT(refused(tree, {.memoryNode = "near"}), HasSubstr("expected the number of a memory node"));
  RecordedTree container;
  container.container();
  EXPECT_THAT(refused(container, {.memoryNode = "1"}), HasSubstr("this process may not use it; it may use 0"));
  RecordedTree flat;
  flat.threaded();
  EXPECT_THAT(refused(flat, {.memoryNode = "0"}), HasSubstr("this kernel has no memory nodes (NUMA)"));
}

TEST(Resources, keepsFrequenciesToTheirRange) {
  RecordedTree tree;
  tree.threaded();
  EXPECT_THAT(refused(tree, {.frequencyCap = "2GHz"}),
              StartsWith("--frequency-cap 2GHz: the kernel shows no frequencies of CPU 0"));
  tree.frequencies({0, 1, 2, 3, 4, 5, 6, 7}, 800000, 3600000);
  EXPECT_EQ(resolved(tree, {.frequencyCap = "2.4GHz"}).frequencyKhz, 2400000);
  EXPECT_EQ(resolved(tree, {.frequencyCap = "800MHz"}).text(), "at most 800 MHz");
  for (const char *beyond : {"799MHz", "3.7GHz"})
    EXPECT_THAT(refused(tree, {.frequencyCap = beyond}), HasSubstr("of the CPUs 0-7, from 800 to 3600 MHz"));
  for (const char *wrong : {"2", "fast", "-2GHz", "2ghz", "2GHz!", "0GHz", "infGHz"})
    EXPECT_THAT(refused(tree, {.frequencyCap = wrong}), HasSubstr("expected a frequency, as 2GHz")) << wrong;
}

TEST(Resources, dividesTheWaysOfAResctrlMachine) {
  RecordedTree tree;
  tree.twoSockets();
  tree.resctrl();
  EXPECT_EQ(resolved(tree, {.cacheShare = "50%"}).text(), "6 of 11 ways of L3");
  EXPECT_EQ(resolved(tree, {.cacheShare = "4ways"}).text(), "4 of 11 ways of L3");
  EXPECT_EQ(resolved(tree, {.cacheShare = "11ways"}).ways, 11);
  EXPECT_THAT(refused(tree, {.cacheShare = "12ways"}), HasSubstr("is 12 of the 11 ways of the L3"));
  EXPECT_THAT(refused(tree, {.cacheShare = "4%"}), HasSubstr("is 0 of the 11 ways of the L3, expected at least 1"));
  tree.write("sys/fs/resctrl/info/L3/min_cbm_bits", "2");
  EXPECT_THAT(refused(tree, {.cacheShare = "1ways"}), HasSubstr("expected at least 2"));
  for (const char *wrong : {"half", "100%", "0%", "1.5ways", "4", "-1ways"})
    EXPECT_THAT(refused(tree, {.cacheShare = wrong}), HasSubstr("expected a share of the last-level cache")) << wrong;
}

TEST(Resources, takesACompanionWithoutResctrl) {
  RecordedTree tree;
  tree.threaded(); // cores 0 and 4, 1 and 5, ...; one L3 of 16 MiB
  Resources one = resolved(tree, {.cpus = "0-1", .cacheShare = "25%"});
  ASSERT_EQ(one.companions.size(), 1u);
  EXPECT_EQ(one.companions[0].cpu, 2); // CPUs 4 and 5 share cores with the measurement
  EXPECT_EQ(one.companions[0].bytes, 12 << 20);
  EXPECT_THAT(one.text(), StartsWith("cpus 0-1, companion on CPU 2 in 12 of 16 MiB of L3"));
  EXPECT_THAT(refused(tree, {.cacheShare = "25%"}), HasSubstr("give --cpus, too"));
  EXPECT_THAT(refused(tree, {.cpus = "0-3", .cacheShare = "25%"}), HasSubstr("leaves no core free"));
  EXPECT_THAT(refused(tree, {.cpus = "0", .cacheShare = "4ways"}),
              HasSubstr("resctrl is not mounted, or the processor cannot divide its L3, so that no ways"));
  tree.write("sys/fs/resctrl/info/L3CODE/cbm_mask", "7ff");
  EXPECT_THAT(refused(tree, {.cpus = "0", .cacheShare = "4ways"}), HasSubstr("separate ways for code and data"));
}

TEST(Resources, takesACompanionForEveryCacheInUse) {
  RecordedTree tree;
  tree.twoSockets();
  Resources both = resolved(tree, {.cpus = "0,4", .cacheShare = "50%"});
  ASSERT_EQ(both.companions.size(), 2u);
  EXPECT_EQ(both.companions[0].cpu, 1);
  EXPECT_EQ(both.companions[1].cpu, 5);
  RecordedTree container;
  container.container(); // 2-5: CPU 2 and 3 share a cache, 4 and 5 another
  EXPECT_EQ(resolved(container, {.cpus = "2", .cacheShare = "50%"}).companions.at(0).cpu, 3);
  EXPECT_THAT(refused(container, {.cpus = "2-3", .cacheShare = "50%"}),
              HasSubstr("(CPUs 0-3) and that this process may use (2-5)"));
}

} // namespace
} // namespace lathe::lab
