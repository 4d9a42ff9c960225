#include "lab/corun/Game.h"

#include <algorithm>
#include <limits>

namespace lathe::lab {

Payoffs PayoffMemo::operator()(const Combination &combination) {
  if (auto found = payoffs.find(combination); found != payoffs.end())
    return found->second;
  if (payoffs.size() >= most) {
    refused = true;
    return std::nullopt;
  }
  Payoffs measured = measure(combination);
  if (measured)
    payoffs[combination] = *measured;
  return measured;
}

size_t Game::combinations() const {
  size_t count = 1;
  for (size_t each : moves) {
    if (count > std::numeric_limits<size_t>::max() / each)
      return std::numeric_limits<size_t>::max();
    count *= each;
  }
  return count;
}

void forEachCombination(std::span<const size_t> moves, const std::function<void(const Combination &)> &visit) {
  Combination at(moves.size(), 0);
  while (true) {
    visit(at);
    size_t player = moves.size();
    while (player && at[player - 1] + 1 == moves[player - 1])
      at[--player] = 0;
    if (!player)
      return;
    ++at[player - 1];
  }
}

/// The best change of one player's move; empty: a payoff is not known. The player has several moves.
static std::optional<Deviation> bestChange(const Game &game, const Combination &at, size_t player) {
  Payoffs here = game.payoffs(at);
  if (!here)
    return std::nullopt;
  std::optional<Deviation> best;
  Combination changed = at;
  for (size_t move = 0; move < game.moves[player]; ++move) {
    if (move == at[player])
      continue;
    changed[player] = move;
    Payoffs there = game.payoffs(changed);
    if (!there)
      return std::nullopt;
    double gain = (*there)[player] / (*here)[player] - 1;
    if (!best || gain > best->gain)
      best = Deviation{player, move, gain};
  }
  return best;
}

Walk bestResponses(const Game &game, Combination from) {
  Walk walk{{from}};
  std::map<Combination, size_t> begun; // combinations at which the first player's turn came, by position in the path
  while (true) {
    auto [before, isNew] = begun.try_emplace(walk.path.back(), walk.path.size() - 1);
    if (!isNew) {
      walk.ending = Ending::cycle;
      walk.cycle = before->second;
      return walk;
    }
    bool moved = false;
    for (size_t player = 0; player < game.moves.size(); ++player) {
      if (game.moves[player] == 1)
        continue;
      auto best = bestChange(game, walk.path.back(), player);
      if (!best)
        return walk;
      if (best->gain <= game.margin)
        continue;
      Combination next = walk.path.back();
      next[player] = best->move;
      walk.path.push_back(std::move(next));
      moved = true;
    }
    if (!moved) {
      walk.ending = Ending::equilibrium;
      return walk;
    }
  }
}

std::optional<std::vector<Deviation>> deviations(const Game &game, const Combination &combination) {
  std::vector<Deviation> all;
  for (size_t player = 0; player < game.moves.size(); ++player) {
    if (game.moves[player] == 1)
      continue;
    auto best = bestChange(game, combination, player);
    if (!best)
      return std::nullopt;
    all.push_back(*best);
  }
  return all;
}

std::optional<Equilibrium> equilibriumAt(const Game &game, const Combination &combination) {
  auto all = deviations(game, combination);
  Payoffs payoffs = game.payoffs(combination);
  if (!all || !payoffs ||
      std::any_of(all->begin(), all->end(), [&](const Deviation &one) { return one.gain > game.margin; }))
    return std::nullopt;
  bool strict = std::all_of(all->begin(), all->end(), [&](const Deviation &one) { return one.gain < -game.margin; });
  return Equilibrium{combination, *payoffs, strict};
}

namespace {

/// Collects the best combination that was seen.
struct Best {
  const Game &game;
  const Welfare &welfare;
  std::optional<Optimum> found;
  bool complete = true; // all payoffs that were asked for are known

  /// The welfare of a combination; empty: not known.
  std::optional<double> see(const Combination &combination) {
    Payoffs payoffs = game.payoffs(combination);
    if (!payoffs) {
      complete = false;
      return std::nullopt;
    }
    double value = welfare(*payoffs);
    if (!found || value > found->welfare)
      found = Optimum{combination, *payoffs, value};
    return value;
  }

  /// Climbs by the best change of one player's move.
  void climb(Combination at) {
    std::optional<double> here = see(at);
    while (here) {
      std::optional<double> best;
      Combination next;
      for (size_t player = 0; player < at.size(); ++player)
        for (size_t move = 0; move < game.moves[player]; ++move) {
          Combination changed = at;
          changed[player] = move;
          auto there = see(changed);
          if (there && (!best || *there > *best)) {
            best = there;
            next = changed;
          }
        }
      if (!best || *best <= *here)
        return;
      at = next;
      here = best;
    }
  }
};

} // namespace

std::optional<Optimum> cooperative(const Game &game, const Welfare &welfare, std::span<const Combination> beginnings,
                                   size_t most) {
  Best best{game, welfare, {}};
  bool all = game.combinations() <= most;
  if (all)
    forEachCombination(game.moves, [&](const Combination &one) { best.see(one); });
  else
    for (const Combination &from : beginnings)
      best.climb(from);
  if (best.found)
    best.found->exhaustive = all && best.complete;
  return best.found;
}

} // namespace lathe::lab
