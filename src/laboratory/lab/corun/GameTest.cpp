#include "lab/corun/Game.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace lathe::lab {
namespace {

using Table = std::map<Combination, std::vector<double>>;

Game gameOf(const std::vector<size_t> &moves, const Table &table, double margin = 0) {
  return {moves, [&table](const Combination &at) -> Payoffs { return table.at(at); }, margin};
}

/// A game with random payoffs, a few of which are equal. `common`: all players have the same payoffs.
Table randomTable(const std::vector<size_t> &moves, std::mt19937 &random, bool common = false) {
  std::uniform_int_distribution<int> payoff(1, 40);
  Table table;
  forEachCombination(moves, [&](const Combination &at) {
    std::vector<double> &payoffs = table[at];
    for (size_t i = 0; i < moves.size(); ++i)
      payoffs.push_back(common && i ? payoffs[0] : payoff(random));
  });
  return table;
}

std::vector<size_t> randomMoves(std::mt19937 &random) {
  std::vector<size_t> moves(2 + random() % 2);
  for (size_t &each : moves)
    each = 1 + random() % 4;
  return moves;
}

/// The equilibria, by the definition.
std::set<Combination> bruteForce(const std::vector<size_t> &moves, const Table &table, double margin) {
  std::set<Combination> found;
  for (const auto &[at, payoffs] : table) {
    bool gains = false;
    for (const auto &[other, theirs] : table) {
      std::vector<size_t> differ;
      for (size_t i = 0; i < moves.size(); ++i)
        if (at[i] != other[i])
          differ.push_back(i);
      gains |= differ.size() == 1 && theirs[differ[0]] / payoffs[differ[0]] - 1 > margin;
    }
    if (!gains)
      found.insert(at);
  }
  return found;
}

TEST(Game, findsTheEquilibriaOfRandomGamesAndNoOthers) {
  std::mt19937 random(7);
  size_t equilibria = 0, cycles = 0, none = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<size_t> moves = randomMoves(random);
    double margin = round % 2 ? 0 : 0.1;
    Table table = randomTable(moves, random);
    Game game = gameOf(moves, table, margin);
    std::set<Combination> expected = bruteForce(moves, table, margin), confirmed;
    bool ended = false;
    for (const auto &[from, ignored] : table) {
      if (auto one = equilibriumAt(game, from)) {
        confirmed.insert(from);
        EXPECT_EQ(one->payoffs, table[from]);
      }
      Walk walk = bestResponses(game, from);
      EXPECT_EQ(walk.path.front(), from);
      ASSERT_NE(walk.ending, Ending::unknown);
      if (walk.ending == Ending::equilibrium) {
        EXPECT_TRUE(expected.contains(walk.path.back()));
        ended = true;
      } else {
        EXPECT_EQ(walk.path[walk.cycle], walk.path.back());
        EXPECT_GT(walk.path.size() - walk.cycle, 2u);
        ++cycles;
      }
    }
    EXPECT_EQ(confirmed, expected);
    if (!expected.empty() && ended)
      ++equilibria;
    else
      ++none;
  }
  EXPECT_GT(equilibria, 1000u); // the games contain all cases
  EXPECT_GT(cycles, 100u);
  EXPECT_GT(none, 100u);
}

/// The move of each step is the best of its player, and gains.
TEST(Game, stepsAreBestResponses) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<size_t> moves = randomMoves(random);
    Table table = randomTable(moves, random);
    Walk walk = bestResponses(gameOf(moves, table), Combination(moves.size(), 0));
    for (size_t i = 1; i < walk.path.size(); ++i) {
      Combination before = walk.path[i - 1], after = walk.path[i];
      size_t player = size_t(std::mismatch(before.begin(), before.end(), after.begin()).first - before.begin());
      double best = 0;
      for (size_t move = 0; move < moves[player]; ++move) {
        Combination other = before;
        other[player] = move;
        best = std::max(best, table[other][player]);
      }
      EXPECT_EQ(table[after][player], best);
      EXPECT_GT(best, table[before][player]);
      before[player] = after[player];
      EXPECT_EQ(before, after);
    }
  }
}

/// Where all players want the same, every walk ends in an equilibrium, and the optimum is one.
TEST(Game, commonInterestEndsInAnEquilibrium) {
  std::mt19937 random(13);
  for (int round = 0; round < 500; ++round) {
    std::vector<size_t> moves = randomMoves(random);
    Table table = randomTable(moves, random, true);
    Game game = gameOf(moves, table);
    for (const auto &[from, ignored] : table)
      EXPECT_EQ(bestResponses(game, from).ending, Ending::equilibrium);
    auto best = cooperative(game, [](const auto &payoffs) { return payoffs[0]; }, {}, game.combinations());
    ASSERT_TRUE(best);
    EXPECT_TRUE(equilibriumAt(game, best->combination));
  }
}

TEST(Game, optimumOfAllCombinationsIsTheHighest) {
  std::mt19937 random(17);
  Welfare sum = [](const auto &payoffs) { return std::accumulate(payoffs.begin(), payoffs.end(), 0.0); };
  Welfare worst = [](const auto &payoffs) { return *std::min_element(payoffs.begin(), payoffs.end()); };
  for (int round = 0; round < 500; ++round) {
    std::vector<size_t> moves = randomMoves(random);
    Table table = randomTable(moves, random);
    Game game = gameOf(moves, table);
    for (const Welfare &welfare : {sum, worst}) {
      double highest = 0;
      for (const auto &[at, payoffs] : table)
        highest = std::max(highest, welfare(payoffs));
      auto all = cooperative(game, welfare, {}, table.size());
      ASSERT_TRUE(all);
      EXPECT_TRUE(all->exhaustive);
      EXPECT_EQ(all->welfare, highest);
      EXPECT_EQ(welfare(table[all->combination]), highest);
      Combination from(moves.size(), 0);
      auto climbed = cooperative(game, welfare, std::span(&from, 1), table.size() - 1);
      ASSERT_TRUE(climbed);
      EXPECT_FALSE(climbed->exhaustive);
      EXPECT_LE(climbed->welfare, highest);
      for (size_t player = 0; player < moves.size(); ++player) // no change of one move helps
        for (size_t move = 0; move < moves[player]; ++move) {
          Combination other = climbed->combination;
          other[player] = move;
          EXPECT_LE(welfare(table[other]), climbed->welfare);
        }
    }
  }
}

TEST(Game, prisonersDilemma) {
  // Moves: be silent, confess. Confessing is better whatever the other does, and worse for both together.
  Table table{{{0, 0}, {3, 3}}, {{0, 1}, {1, 4}}, {{1, 0}, {4, 1}}, {{1, 1}, {2, 2}}};
  Game game = gameOf({2, 2}, table);
  Walk walk = bestResponses(game, {0, 0});
  EXPECT_EQ(walk.ending, Ending::equilibrium);
  EXPECT_THAT(walk.path, testing::ElementsAre(Combination{0, 0}, Combination{1, 0}, Combination{1, 1}));
  auto one = equilibriumAt(game, {1, 1});
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->strict);
  EXPECT_FALSE(equilibriumAt(game, {0, 0}));
  auto best = cooperative(game, [](const auto &p) { return p[0] + p[1]; }, {}, 4);
  EXPECT_EQ(best->combination, (Combination{0, 0}));
  EXPECT_DOUBLE_EQ(best->welfare / (one->payoffs[0] + one->payoffs[1]), 1.5); // price of anarchy
}

TEST(Game, matchingPenniesHasACycleAndNoEquilibrium) {
  Table table{{{0, 0}, {2, 1}}, {{0, 1}, {1, 2}}, {{1, 0}, {1, 2}}, {{1, 1}, {2, 1}}};
  Game game = gameOf({2, 2}, table);
  Walk walk = bestResponses(game, {0, 0});
  EXPECT_EQ(walk.ending, Ending::cycle);
  EXPECT_EQ(walk.path[walk.cycle], walk.path.back());
  EXPECT_EQ(walk.path.size() - walk.cycle, 5u); // all four, and the first again
  for (const auto &[at, ignored] : table)
    EXPECT_FALSE(equilibriumAt(game, at));
}

TEST(Game, marginDecidesWhatGains) {
  Table table{{{0, 0}, {100, 100}}, {{1, 0}, {101.5, 100}}};
  EXPECT_EQ(bestResponses(gameOf({2, 1}, table), {0, 0}).path.back(), (Combination{1, 0}));
  Game coarse = gameOf({2, 1}, table, 0.02);
  EXPECT_EQ(bestResponses(coarse, {0, 0}).path.back(), (Combination{0, 0}));
  auto one = equilibriumAt(coarse, {0, 0});
  ASSERT_TRUE(one);
  EXPECT_FALSE(one->strict); // the other move is as good
  EXPECT_NEAR(deviations(coarse, {0, 0})->front().gain, 0.015, 1e-12);
}

TEST(Game, neverMeasuresMoreThanAllowedOrTwice) {
  std::mt19937 random(19);
  for (int round = 0; round < 300; ++round) {
    std::vector<size_t> moves = randomMoves(random);
    Table table = randomTable(moves, random);
    std::map<Combination, int> calls;
    size_t most = random() % (table.size() + 2);
    PayoffMemo memo(
        [&](const Combination &at) -> Payoffs {
          ++calls[at];
          return table.at(at);
        },
        most);
    Game game{moves, [&](const Combination &at) { return memo(at); }};
    Combination from(moves.size(), 0);
    Walk walk = bestResponses(game, from);
    auto best = cooperative(game, [](const auto &p) { return p[0]; }, std::span(&from, 1), table.size());
    EXPECT_LE(calls.size(), most);
    EXPECT_EQ(calls.size(), memo.known().size());
    for (const auto &[at, count] : calls)
      EXPECT_EQ(count, 1);
    EXPECT_EQ(memo.spent(), most < table.size());
    EXPECT_EQ(best.has_value(), most > 0);
    if (best)
      EXPECT_EQ(best->exhaustive, most >= table.size());
    if (walk.ending == Ending::equilibrium) // only where all moves could be tried
      EXPECT_TRUE(bruteForce(moves, table, 0).contains(walk.path.back()));
  }
}

TEST(Game, countsCombinations) {
  EXPECT_EQ((Game{{3, 4, 5}, {}}).combinations(), 60u);
  EXPECT_EQ((Game{std::vector<size_t>(70, 2), {}}).combinations(), std::numeric_limits<size_t>::max());
  std::vector<Combination> seen;
  forEachCombination(std::vector<size_t>{2, 1, 2}, [&](const Combination &one) { seen.push_back(one); });
  EXPECT_THAT(seen, testing::ElementsAre(Combination{0, 0, 0}, Combination{0, 0, 1}, Combination{1, 0, 0},
                                         Combination{1, 0, 1}));
}

} // namespace
} // namespace lathe::lab
