// Times the rows of `lathe sweep` in turns.
#pragma once

#include "jobs/sweep/Rows.h"

namespace lathe::jobs {

struct SweepTiming {
  std::vector<size_t> starts; // number of rounds of each start of the timed processes
  store::Disturbance disturbance;
};

/// Times the rows that have no reason, each in a separate process, in turns over several starts (lab/judging/Turns.h),
/// and compares each with the first of them. `progress` and `afterStart` are called as in TurnWatch. If a process
/// fails, its row gets a reason.
SweepTiming timeRows(std::vector<SweepRow> &rows, const lab::TurnOptions &options,
                     const process::TemporaryDirectory &folder,
                     const std::function<void(const std::string &what, double secondsLeft)> &progress,
                     const std::function<void(const SweepTiming &soFar)> &afterStart);

} // namespace lathe::jobs
