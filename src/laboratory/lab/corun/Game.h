// Games in strategic form: players choose moves, and every combination of moves gives each player a payoff. Finds the
// combinations in which no player gains by another move alone (Nash, "Non-cooperative games", 1951), and the best one
// for all together. Measures nothing: payoffs come from a function.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace lathe::lab {

/// The index of each player's move.
using Combination = std::vector<size_t>;

/// The payoff of each player, a positive number; empty: it is not known, and will not be.
using Payoffs = std::optional<std::vector<double>>;
using PayoffFunction = std::function<Payoffs(const Combination &)>;

/// Remembers payoffs, and bounds how many combinations are measured.
class PayoffMemo {
public:
  /// Calls `measure` for at most `most` combinations, once for each.
  PayoffMemo(PayoffFunction measure, size_t most) : measure(std::move(measure)), most(most) {}
  Payoffs operator()(const Combination &combination);
  const std::map<Combination, std::vector<double>> &known() const { return payoffs; }
  /// True if a combination was asked for that could not be measured any more.
  bool spent() const { return refused; }

private:
  PayoffFunction measure;
  size_t most;
  bool refused = false;
  std::map<Combination, std::vector<double>> payoffs;
};

struct Game {
  std::vector<size_t> moves; // number of moves of each player, at least 1
  PayoffFunction payoffs;
  /// A move gains only if it raises the player's payoff by more than this share, because measured payoffs scatter.
  double margin = 0;

  size_t combinations() const; // number of combinations, or the largest number if there are more
};

/// How a walk of best responses ended.
enum class Ending {
  equilibrium, // no player gains by another move
  cycle,       // a combination came again: the walk goes on like this for ever
  unknown      // a payoff was not known
};

/// A walk of best responses: one player after the other takes the move that is best for it while the others keep
/// theirs, if it gains by that.
struct Walk {
  std::vector<Combination> path; // from the beginning on; two neighbours differ in one player's move
  Ending ending = Ending::unknown;
  size_t cycle = 0; // position in `path` of the combination that the last one repeats, for Ending::cycle
};
Walk bestResponses(const Game &game, Combination from);

/// What one player can gain in a combination by changing its own move.
struct Deviation {
  size_t player = 0, move = 0;
  double gain = 0; // the payoff after the change / the payoff before - 1; negative if the change costs
};
/// Tries every other move of every player. Returns the best change of each player that has several moves; empty: a
/// payoff is not known.
std::optional<std::vector<Deviation>> deviations(const Game &game, const Combination &combination);

/// An equilibrium: every other move of every player was tried, and none gains.
struct Equilibrium {
  Combination combination;
  std::vector<double> payoffs;
  /// True if every other move costs its player more than the margin; false: some other move is as good.
  bool strict = false;
};
/// Returns the combination as an equilibrium if it is one; empty: a player gains by another move, or a payoff is not
/// known.
std::optional<Equilibrium> equilibriumAt(const Game &game, const Combination &combination);

/// The value of a combination for all players together.
using Welfare = std::function<double(const std::vector<double> &payoffs)>;

struct Optimum {
  Combination combination;
  std::vector<double> payoffs;
  double welfare = 0;
  bool exhaustive = false; // true: every combination was tried; false: it is the best one that was seen
};
/// Finds the combination with the highest welfare: tries all combinations if there are at most `most`, otherwise climbs
/// from each of `beginnings`, by the best change of one player's move, to where no such change helps. Empty: no payoff
/// is known.
std::optional<Optimum> cooperative(const Game &game, const Welfare &welfare, std::span<const Combination> beginnings,
                                   size_t most);

/// Calls `visit` with every combination, the last player's move changing fastest.
void forEachCombination(std::span<const size_t> moves, const std::function<void(const Combination &)> &visit);

} // namespace lathe::lab
