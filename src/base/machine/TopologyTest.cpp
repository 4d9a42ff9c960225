#include "machine/Topology.h"
#include "machine/TopologyTesting.h"
#include "support/Error.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string chosen(const RecordedTree &tree, const std::string &text) {
  return numberListText(selectCpus(readTopology(tree.root), text));
}

std::string refused(const RecordedTree &tree, const std::string &text) {
  return errorOf([&] { selectCpus(readTopology(tree.root), text); });
}

TEST(NumberList, readsAndWritesTheKernelsForm) {
  EXPECT_THAT(*numberList("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*numberList("8,1-2,2-3"), ElementsAre(1, 2, 3, 8));
  EXPECT_TRUE(numberList("")->empty());
  for (const char *wrong : {"a", "1-", "-1", "3-1", "1,", ",1", "0-3:2", "1 2", "0-99999999"})
    EXPECT_FALSE(numberList(wrong)) << wrong;
  EXPECT_EQ(numberListText({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(numberListText({}), "");
}

TEST(Topology, readsAHybridProcessor) {
  RecordedTree tree;
  tree.hybrid();
  Topology machine = readTopology(tree.root);
  ASSERT_EQ(machine.cpus.size(), 8u);
  EXPECT_EQ(machine.find(1)->kind, CoreKind::performance);
  EXPECT_EQ(machine.find(4)->kind, CoreKind::efficiency);
  EXPECT_THAT(machine.find(3)->siblings, ElementsAre(2, 3));
  EXPECT_EQ(machine.find(0)->cacheBytes, 24 << 20); // the last level, not the first
  EXPECT_EQ(machine.find(0)->cacheName, "L3");
  EXPECT_EQ(numberListText(machine.find(0)->cacheCpus), "0-7");
  EXPECT_EQ(machine.find(8), nullptr);
  EXPECT_EQ(chosen(tree, "performance"), "0-3");
  EXPECT_EQ(chosen(tree, "efficiency"), "4-7");
  EXPECT_EQ(chosen(tree, "performance+one-per-core"), "0,2");
  EXPECT_EQ(chosen(tree, "one-per-core"), "0,2,4-7");
  EXPECT_EQ(chosen(tree, "1,4-5"), "1,4-5");
}

TEST(Topology, tellsThreeKindsOfArmCoresByCapacity) {
  RecordedTree tree;
  tree.online("0-3");
  tree.allow("0-3", "0");
  const char *capacities[] = {"446", "446", "871", "1024"};
  for (int number = 0; number < 4; ++number)
    tree.write(fmt::format("sys/devices/system/cpu/cpu{}/cpu_capacity", number), capacities[number]);
  EXPECT_EQ(chosen(tree, "efficiency"), "0-1");
  EXPECT_EQ(chosen(tree, "performance"), "3");
  EXPECT_EQ(readTopology(tree.root).find(2)->kind, CoreKind::between);
}

TEST(Topology, leavesOutSiblings) {
  RecordedTree tree;
  tree.threaded();
  EXPECT_EQ(chosen(tree, "one-per-core"), "0-3");
  EXPECT_EQ(chosen(tree, "1,5,6+one-per-core"), "1,6");
  EXPECT_THAT(refused(tree, "efficiency"), HasSubstr("--cpus efficiency: this machine has one kind of core"));
  EXPECT_THAT(refused(tree, "0-8"), HasSubstr("--cpus 0-8: this machine has no CPU 8; online: 0-7"));
}

TEST(Topology, knowsPackagesAndNodes) {
  RecordedTree tree;
  tree.twoSockets();
  EXPECT_EQ(chosen(tree, "node:1"), "4-7");
  EXPECT_EQ(chosen(tree, "package:0"), "0-3");
  EXPECT_THAT(refused(tree, "node:2"), HasSubstr("expected a memory node of this machine (0-1), got '2'"));
  EXPECT_THAT(refused(tree, "package:x"), HasSubstr("expected a package of this machine (0-1), got 'x'"));
  EXPECT_EQ(numberListText(readTopology(tree.root).nodes.at(1)), "4-7");
  tree.write("sys/devices/system/node/has_memory", "0");
  EXPECT_FALSE(readTopology(tree.root).nodes.contains(1));
  EXPECT_EQ(chosen(tree, "node:1"), "4-7"); // its CPUs are there all the same
}

TEST(Topology, keepsToTheCpusetOfAContainer) {
  RecordedTree tree;
  tree.container();
  EXPECT_EQ(chosen(tree, "one-per-core"), "2-5");
  EXPECT_EQ(chosen(tree, "node:1"), "4-5");
  EXPECT_THAT(refused(tree, "0-3"), HasSubstr("this process may not use CPU 0; it may use 2-5"));
  EXPECT_THAT(refused(tree, "2-3+node:1"), HasSubstr("none of the CPUs that this process may use (2-5) is selected"));
  EXPECT_THAT(readTopology(tree.root).allowedNodes, ElementsAre(0));
}

TEST(Topology, refusesOtherTexts) {
  RecordedTree tree;
  tree.threaded();
  for (const char *wrong : {"", "fast", "0-", "1+", "+1"})
    EXPECT_THAT(refused(tree, wrong), HasSubstr("expected CPUs as 0-3,8, performance")) << wrong;
  EXPECT_THAT(refused(tree, "node:0"), HasSubstr("its kernel states none"));
  RecordedTree empty;
  EXPECT_THAT(refused(empty, "0"), HasSubstr("this system does not list its CPUs"));
}

TEST(Topology, readsThisMachine) {
  Topology here = readTopology("");
  ASSERT_FALSE(here.allowedCpus.empty());
  EXPECT_EQ(selectCpus(here, numberListText(here.allowedCpus)), here.allowedCpus);
}

} // namespace
} // namespace lathe
