// Measures models that run without end at the same time, and instances of one model: each member alone and all members
// together, in turns on the same CPUs, over several starts of the processes (lab/judging/Turns.h).
#pragma once

#include "lab/corun/CorunProcess.h"
#include "lab/judging/Turns.h"
#include "store/Records.h"

#include <functional>

namespace lathe::lab {

struct CorunOptions : TurnOptions {
  CorunOptions() { // a turn is a window, which needs runs of every model
    minStarts = 3;
    maxStarts = 12;
    roundSeconds = 0.1;
  }
  bool processEach = false; // true: a process for each member; false: one process, whose members share a pool
  bool alone = true;        // false: measure only all together
  bool together = true;     // false: measure only each alone; members then share no pool of threads
  /// Models that are measured alone in turns with the members, to compare figures with.
  std::vector<CorunMember> references;
  size_t leastRuns = 10; // runs of each member that must be complete in every start, if it can be together with others
  /// Processor time that other processes use for this measurement, which is no disturbance. May be empty.
  std::function<double()> otherSeconds;
  /// Called after each round. May be empty.
  std::function<void(int start, int round)> progress;
  /// Called with the preliminary result after each start. May be empty.
  std::function<void(const struct CorunResult &soFar)> afterStart;
};

/// Runs of one member: alone, or while all members run.
struct CorunRuns {
  std::vector<std::vector<double>> rounds;  // seconds of the runs of each turn; of many runs, equally spaced ones
  std::vector<size_t> counts;               // number of complete runs in each turn
  std::vector<std::vector<double>> periods; // of each turn, as its only element: length of the window / share
  double seconds = 0;                       // length of all windows
  double share = 0;                         // runs in the windows, with the parts of those at the ends
  Summary time;                             // of `rounds`, in seconds

  size_t runs() const;
  double perSecond() const { return seconds > 0 ? share / seconds : 0; }
};

struct CorunResult {
  struct Member {
    CorunRuns alone, together;
    std::optional<JudgedPair> slowDown; // ratio of times together / alone; empty if nothing was measured alone
    std::optional<JudgedPair> gain;     // if nothing runs together: runs per second / those of the first member alone;
                                        // empty for the first member
    std::string wrong;                  // how outputs differ from the expected ones; "": they never do
    std::string mistrust;               // why the figures are not trusted: too few runs; ""

    /// Why the figures are wrong or not trusted; "": they are right.
    const std::string &doubt() const { return wrong.empty() ? mistrust : wrong; }
  };
  std::vector<Member> members;
  std::vector<CorunRuns> references; // of CorunOptions::references
  std::vector<size_t> starts;        // number of rounds of each start
  store::Disturbance disturbance;
};

/// True if some CPU is given to two slots.
bool shareCpus(const std::vector<CorunMember> &members);

/// Measures the members. Throws Error if a process fails, and if a run takes so long that no window holds one.
CorunResult corun(const std::vector<CorunMember> &members, const CorunOptions &options);

} // namespace lathe::lab
