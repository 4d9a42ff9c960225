// Timing in turns over several starts: the engine of `lathe ops bench`, `compare` and `segments` (docs/measuring.md).
//
// A *round* is one turn of every side; while one side runs, the others stand still. A *start* is a number of rounds with
// the same processes; the next start begins with new processes. A *look* asks whether enough is known after a start.
#pragma once

#include "lab/judging/Verdict.h"

#include <functional>
#include <limits>

namespace lathe::lab {

/// One side of a measurement: a process that can be started anew. Between the calls it stands still.
class TimedSide {
public:
  virtual ~TimedSide() = default;
  /// False from the first failure on, and where the side is not timed at all. Such a side gets no turns.
  virtual bool running() const = 0;
  /// Replaces the process by a new one that is ready to be timed.
  virtual void startAgain() = 0;
  /// The first runs of a start, untimed: how long does one take?
  virtual void estimate() = 0;
  /// Runs for about TurnOptions::roundSeconds and appends one round.
  virtual void takeTurn() = 0;
  /// Seconds of every repetition, of every round of all starts.
  virtual const std::vector<std::vector<double>> &rounds() const = 0;
};

struct TurnOptions {
  int minStarts = 6, maxStarts = 64;  // of every side's process: a verdict is asked for from minStarts on
  int minRounds = 8, maxRounds = 240; // over the first minStarts starts
  double roundSeconds = 0.01;         // of one side's turn; at least one run
  double maxSeconds = 20;             // of rounds, divided over maxStarts; each of minStarts starts has at least three
  double precision = 0.01;            // half width of a ratio's interval at which nothing more is needed
  /// Limit on all that takeTurns does, starts of the processes included, in seconds: no start and no round begins after
  /// it. The time is divided so that minStarts starts fit in, with one round each if need be.
  double limitSeconds = std::numeric_limits<double>::infinity();
  int roundsInAll = std::numeric_limits<int>::max(); // of all starts
  double startSeconds = 0;                           // what starting all sides took the first time, where it is known
  std::function<double()> clock = {};                // seconds since anything; empty: steadySeconds
};

/// Of the system's steady clock.
double steadySeconds();

/// What takeTurns tells and asks; each may be empty. `starts`: rounds of each start.
struct TurnWatch {
  /// At a look: is every verdict known?
  std::function<bool(const std::vector<size_t> &starts)> decided;
  std::function<void(const std::vector<size_t> &starts)> afterStart;
  /// `start` from 1, `round` of this start from 1; `secondsLeft` of limitSeconds.
  std::function<void(int start, int round, double secondsLeft)> afterRound;
};

/// Times the sides, which stand ready, until every verdict is decided or a limit is reached; rounds of each start. Looks
/// are taken after minStarts starts, and then each after a third more starts than the one before: every look is a chance
/// to be wrong. A side that fails is left out of what follows.
std::vector<size_t> takeTurns(const std::vector<TimedSide *> &sides, TurnOptions options, const TurnWatch &watch);

/// `rounds` by start, as far as its first `count` rounds go.
Starts byStart(const std::vector<std::vector<double>> &rounds, const std::vector<size_t> &starts, size_t count);

/// What is known of two sides after some starts.
struct JudgedPair : JudgedRatio {
  bool tooFewStarts = false; // ambiguous because of it
  /// After how many starts nothing more was needed for this pair (0: it never was enough), and what the verdict was
  /// then: that of a run without other pairs.
  size_t decidedAfter = 0;
  Verdict alone = Verdict::ambiguous;
};

struct SideRounds {
  const std::vector<std::vector<double>> &rounds;
  std::optional<double> callSeconds; // what a call takes that does next to nothing, where it is known
};

/// Judges numerator / denominator by the rounds that both have, at least one. No verdict before three starts (or
/// minStarts, where that is less): how much processes differ is not known then. `before`: the judgement at the look
/// before.
JudgedPair judgePair(const SideRounds &numerator, const SideRounds &denominator, const std::vector<size_t> &starts,
                     const TurnOptions &options, const JudgedPair &before = {});

} // namespace lathe::lab
