#include "jobs/corun/Moves.h"

#include "support/Error.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace lathe::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const CorunChoices fixed{{false}, false}, open{{false}, true}, streaming{{true}, false};

TEST(Moves, onTwoSlots) {
  std::vector<std::string> texts;
  for (const CorunMove &move : movesOf(fixed, {2, {1}, {1, 2, 4}}))
    texts.push_back(move.text());
  EXPECT_THAT(texts,
              ElementsAre("slot 0", "slot 0, 2 instances", "slot 0, 4 instances", "slot 1", "slot 1, 2 instances",
                          "slot 1, 4 instances", "slots 0-1", "slots 0-1, 2 instances", "slots 0-1, 4 instances"));
  EXPECT_EQ(movesOf(open, {2, {1, 8}, {1, 2, 4}}).size(), 18u);
  EXPECT_EQ(movesOf(streaming, {2, {1}, {1, 2, 4}}).size(), 10u); // streams off: only with two slots an instance
  EXPECT_EQ(movesOf({{false, true}, false}, {2, {1}, {1}}).size(), 7u);
}

/// Each move of any machine is possible and different, and its instances use its slots.
TEST(Moves, areDifferentAndPossible) {
  for (int slots = 1; slots <= 17; ++slots) {
    auto moves = movesOf({{true, false}, true}, {slots, {1, 4}, {1, 2, 3, 4}});
    std::set<std::string> texts;
    for (const CorunMove &move : moves) {
      EXPECT_TRUE(texts.insert(move.text()).second) << move.text();
      auto instances = instancesOf(move);
      EXPECT_EQ(instances.size(), size_t(move.instances));
      std::set<int> used;
      size_t threads = 0;
      for (const NumberList &instance : instances) {
        used.insert(instance.begin(), instance.end());
        threads += instance.size();
      }
      EXPECT_EQ(NumberList(used.begin(), used.end()), move.slots);
      EXPECT_EQ(threads, size_t(move.threads()));
      EXPECT_GE(move.slots.front(), 0);
      EXPECT_LT(move.slots.back(), slots);
    }
    for (auto &some :
         {equalMoves({open, open, open}, {slots, {1, 4}, {1}}), wholeMoves({open, open}, {slots, {1, 4}, {1}})})
      for (const CorunMove &move : some)
        EXPECT_FALSE(instancesOf(move).empty());
  }
}

TEST(Moves, equal) {
  auto slotsOf = [](size_t models, int slots) {
    std::vector<NumberList> result;
    for (const CorunMove &move : equalMoves(std::vector<CorunChoices>(models, fixed), {slots, {1}, {1}}))
      result.push_back(move.slots);
    return result;
  };
  EXPECT_THAT(slotsOf(2, 2), ElementsAre(NumberList{0}, NumberList{1}));
  EXPECT_THAT(slotsOf(2, 5), ElementsAre(NumberList{0, 1, 2}, NumberList{3, 4}));
  EXPECT_THAT(slotsOf(3, 2), ElementsAre(NumberList{0}, NumberList{1}, NumberList{0}));
  EXPECT_EQ(equalMoves({open, fixed}, {2, {4, 8}, {1}})[0].batch, 4);
  EXPECT_EQ(equalMoves({open, fixed}, {2, {4, 8}, {1}})[1].batch, 0);
}

class MovesFile : public testing::Test {
protected:
  std::string path = testing::TempDir() + "moves-test.json";
  void TearDown() override { std::remove(path.c_str()); }

  std::vector<CorunMove> read(const std::string &text) {
    std::ofstream(path) << text;
    return movesFromFile(path, {open, streaming}, {4, {2}, {1}});
  }
  std::string refused(const std::string &text) {
    try {
      read(text);
    } catch (const Error &error) {
      std::string said = error.what();
      EXPECT_TRUE(said.starts_with(path + ": ")) << said;
      return said.substr(path.size() + 2);
    }
    return "";
  }
};

TEST_F(MovesFile, isRead) {
  auto moves = read(R"({"models": [{"slots": "0-1", "instances": 2, "batch": 8}, {"slots": 2, "streams": false}]})");
  EXPECT_EQ(moves[0], (CorunMove{{0, 1}, 2, 8}));
  EXPECT_EQ(moves[1], (CorunMove{{2, 3}, 1, 0, false}));
  EXPECT_EQ(read(R"({"models": [{"slots": 1}, {"slots": "0,2", "package": 1}]})")[0], (CorunMove{{0}, 1, 2}));
}

TEST_F(MovesFile, errorsSayWhere) {
  EXPECT_THAT(refused("[1"), HasSubstr("not JSON"));
  EXPECT_THAT(refused("[]"), HasSubstr("expected an object with one key"));
  EXPECT_EQ(refused(R"({"models": [{"slots": 1}]})"), "models: expected 2 entries, one for each model, got 1");
  auto second = [&](const std::string &entry) { return refused(R"({"models": [{"slots": 1}, )" + entry + "]}"); };
  EXPECT_EQ(second("7"), "models[1]: expected an object, got 7");
  EXPECT_EQ(second("{}"), "models[1].slots: missing");
  EXPECT_EQ(second(R"({"slots": "0-4"})"), "models[1].slots: there is no slot 4, expected 0 to 3");
  EXPECT_EQ(second(R"({"slots": 4})"), "models[1].slots: 4 slots from slot 1 on, but there are 4");
  EXPECT_EQ(second(R"({"slots": 0})"), "models[1].slots: expected a whole number from 1 to 1048576, got 0");
  EXPECT_THAT(second(R"({"slots": "x"})"), HasSubstr("models[1].slots: expected a number of slots or a list"));
  EXPECT_THAT(second(R"({"slots": []})"), HasSubstr("models[1].slots: expected a number of slots or a list"));
  EXPECT_THAT(second(R"({"slots": 3, "instances": 2})"), HasSubstr("2 instances do not divide 3 slots"));
  EXPECT_EQ(second(R"({"slots": 1, "batch": 2})"), "models[1].batch: the package has no open batch");
  EXPECT_EQ(second(R"({"slots": 1, "package": 2})"), "models[1].package: expected a whole number from 1 to 1, got 2");
  EXPECT_EQ(second(R"({"slots": 1, "streams": "off"})"), R"(models[1].streams: expected true or false, got "off")");
  EXPECT_THAT(second(R"({"slots": 1, "cpu": 2})"),
              HasSubstr("models[1]: unknown key 'cpu', expected batch, instances"));
}

} // namespace
} // namespace lathe::jobs
