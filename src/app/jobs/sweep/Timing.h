// Times the rows of `lathe sweep` in turns.
#pragma once

#include "jobs/sweep/Rows.h"
#include "lab/resources/HeldResources.h"

namespace lathe::jobs {

struct SweepTiming {
  std::vector<size_t> starts; // number of rounds of each start of the timed processes
  store::Disturbance disturbance;
};

/// Times the rows that have no reason, each in a separate process, in turns over several starts (lab/judging/Turns.h),
/// and compares each with the first of them. `progress` and `afterStart` are called as in TurnWatch. If a process
/// fails, its row gets a reason. `held` holds the resources of the row whose turn it is.
SweepTiming timeRows(std::vector<SweepRow> &rows, const lab::TurnOptions &options,
                     const process::TemporaryDirectory &folder, lab::HeldResources &held,
                     const std::function<void(const std::string &what, double secondsLeft)> &progress,
                     const std::function<void(const SweepTiming &soFar)> &afterStart);

} // namespace lathe::jobs
