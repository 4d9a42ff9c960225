// Times candidates (built schedules) in turns over several starts of their processes.
#pragma once

#include "tune/measure/RunnerProcess.h"

namespace lathe::tune {

struct TurnOutcome {
  RunOutcome outcome;       // outcome of the candidate, with the samples of all rounds
  lab::JudgedRatio toFirst; // ratio of times to the first candidate, judged (TurnMeasurement::toFirst)
};

/// Times candidates in turns for about `seconds`, or until each has a verdict against the first candidate. A null
/// candidate is skipped, and its outcome is empty. A candidate that fails gets no further turns.
std::vector<TurnOutcome> timeInTurns(RunnerProcess &runner, const std::vector<const nlohmann::json *> &candidates,
                                     double seconds);

} // namespace lathe::tune
