// Times the rows of `lathe sweep` in turns.
#pragma once

#include "jobs/sweep/Rows.h"

namespace lathe::jobs {

struct SweepTiming {
  std::vector<size_t> starts; // rounds of each start of the processes
  store::Disturbance disturbance;
};

/// Times the rows that have no reason against it, each in a process of its own, in turns over several starts
/// (lab/judging/Turns.h), and judges each beside the first of them. `progress` and `afterStart` are called as TurnWatch
/// says. A process that fails gives its row a reason.
SweepTiming timeRows(std::vector<SweepRow> &rows, const lab::TurnOptions &options,
                     const process::TemporaryDirectory &folder,
                     const std::function<void(const std::string &what, double secondsLeft)> &progress,
                     const std::function<void(const SweepTiming &soFar)> &afterStart);

} // namespace lathe::jobs
