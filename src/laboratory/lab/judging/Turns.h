// Timing in turns over several starts: the engine of `lathe ops bench`, `compare` and `segments` (docs/measuring.md).
//
// A *round* is one turn of every side; while one side runs, the others are stopped. A *start* is a number of
// rounds with the same processes; the next start has new processes. A *look* checks after a start whether
// every verdict is decided.
#pragma once

#include "lab/judging/FullSpeed.h"
#include "lab/judging/Verdict.h"

#include <functional>
#include <limits>
#include <optional>

namespace lathe::lab {

/// One side of a measurement in turns: a process that can be restarted. It is stopped between the calls.
class TimedSide {
public:
  virtual ~TimedSide() = default;
  /// False after the side's first failure, and if the side is not to be timed. Such a side gets no turns.
  virtual bool running() const = 0;
  /// Replaces the side's process by a new one and prepares it for timing.
  virtual void startAgain() = 0;
  /// Runs the side's untimed first runs of a start, to learn how long one run takes.
  virtual void estimate() = 0;
  /// Runs the side for about TurnOptions::roundSeconds, and appends a round to `rounds`.
  virtual void takeTurn() = 0;
  /// Times of the side in seconds: one list for each round, over all starts.
  virtual const std::vector<std::vector<double>> &rounds() const = 0;
};

struct TurnOptions {
  // number of process starts of every side; the first look at the verdicts is after minStarts
  int minStarts = 6, maxStarts = 64;
  int minRounds = 8, maxRounds = 240; // number of rounds over the first minStarts starts
  double roundSeconds = 0.01;         // duration of one side's turn in seconds; a turn has at least one run
  /// Limit on the time of all rounds in seconds, which is divided by maxStarts. The first minStarts starts have at
  /// least three rounds each.
  double maxSeconds = 20;
  double precision = 0.01; // half width of a ratio's interval, relative to the ratio, that is precise enough
  /// Limit on the time of takeTurns including process starts, in seconds: no start and no round begins after it. The
  /// time is divided so that minStarts starts fit, with one round each if necessary.
  double limitSeconds = std::numeric_limits<double>::infinity();
  int roundsInAll = std::numeric_limits<int>::max(); // limit on the number of rounds of all starts together
  double startSeconds = 0;                           // seconds that the first start of all sides took, if known
  std::function<double()> clock = {}; // function that gives seconds from any fixed moment; empty: steadySeconds
  /// If not null, is asked before every round to wait for full speed. The waiting counts for limitSeconds, but not for
  /// maxSeconds.
  FullSpeed *fullSpeed = nullptr;
};

/// The present time of the system's steady clock, in seconds.
double steadySeconds();

/// Callbacks of takeTurns; each may be empty. `starts` has the number of rounds of each start so far.
struct TurnWatch {
  /// Called at each look at the verdicts (takeTurns); returns true if every verdict is decided.
  std::function<bool(const std::vector<size_t> &starts)> decided;
  std::function<void(const std::vector<size_t> &starts)> afterStart;
  /// Called after each round. `start` and `round` count from 1; `secondsLeft`: seconds that are left of limitSeconds.
  std::function<void(int start, int round, double secondsLeft)> afterRound;
};

/// A measurement in turns: times prepared sides start by start, until every verdict is decided or a limit is reached.
/// The first look at the verdicts is after minStarts starts, each further look after a third more starts, because
/// every look may give a wrong verdict by chance. A side that fails gets no further turns. Between two starts the
/// caller may measure something else.
class Turns {
public:
  /// Prepares to time `sides`, which must outlive this object. The sides must have been started.
  Turns(std::vector<TimedSide *> sides, TurnOptions options, TurnWatch watch);
  /// Makes one start: starts all sides (before the first step they are started already) and times their rounds.
  /// Returns false if the timing has ended.
  bool step();
  /// The number of rounds of each start made so far.
  const std::vector<size_t> &starts() const { return made; }

private:
  std::vector<TimedSide *> running() const;
  std::vector<TimedSide *> inOrderOf(int number) const;
  double deadline(int number) const;
  int mostRounds(int number, int usual) const;
  void awaitFullSpeed(double until);
  size_t timeStart(int number, double least, double most);

  std::vector<TimedSide *> sides;
  TurnOptions options;
  TurnWatch watch;
  std::optional<double> began; // time at which the first start began
  double starting;             // seconds that the last start of all sides took
  double waited = 0;           // seconds of waiting for full speed
  double timed = 0;            // seconds that all rounds took
  int look;                    // number of starts before the next look
  int rounds = 0;
  std::vector<size_t> made;
};

/// Makes all starts of a measurement in turns (class Turns). Returns the number of rounds of each start.
std::vector<size_t> takeTurns(const std::vector<TimedSide *> &sides, TurnOptions options, const TurnWatch &watch);

/// Returns the number of rounds of each start for a side that stopped early and has only `rounds` rounds; `starts` has
/// the numbers of a complete side.
std::vector<size_t> startsWithin(const std::vector<size_t> &starts, size_t rounds);

/// Groups the first `count` rounds by process start; `starts` has the number of rounds of each start; empty: one start.
Starts byStart(const std::vector<std::vector<double>> &rounds, const std::vector<size_t> &starts, size_t count);

/// The ratio of two sides' times, which is judged again after some of the starts.
struct JudgedPair : JudgedRatio {
  /// Number of starts after which this pair needed no more (0: never), and its verdict at that time. It is the verdict
  /// that a run without other pairs would have.
  size_t decidedAfter = 0;
  Verdict alone = Verdict::ambiguous;
};

struct SideRounds {
  const std::vector<std::vector<double>> &rounds;
  std::optional<double> callSeconds; // seconds of a call that computes one element, if known
};

/// Judges the ratio numerator / denominator by the rounds that both sides have, at least one. Gives no verdict before
/// three starts (leastStarts), because the difference between process starts is unknown before. `before` is the
/// judgement at the previous look.
JudgedPair judgePair(const SideRounds &numerator, const SideRounds &denominator, const std::vector<size_t> &starts,
                     const TurnOptions &options, const JudgedPair &before = {}, double band = indifference);

} // namespace lathe::lab
