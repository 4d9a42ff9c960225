// Converts measurements of the laboratory to store records (store/Records.h).
#pragma once

#include "lab/compare/Compare.h"
#include "lab/ops/OpsLab.h"
#include "store/Records.h"

namespace lathe::lab {

/// The platform of this process: machine and software.
store::Platform platformHere();

/// Converts seconds to samples in whole nanoseconds. `counts` has one entry per round or is empty;
/// each sample of a round gets an equal share, and the frequency cycles / processor time.
std::vector<std::vector<store::Sample>> samplesOf(const std::vector<std::vector<double>> &rounds,
                                                  const std::vector<Counts> &counts);
/// Converts samples of the store back to seconds, by round.
std::vector<std::vector<double>> secondsOf(const std::vector<std::vector<store::Sample>> &rounds);
/// Seconds of all samples of a point, in the order of the runs.
std::vector<double> secondsOf(const store::Point &point);

/// Makes the points of a row, one for each column, in their order; they have no experiment yet.
std::vector<store::Point> pointsOf(const OpsRow &row);

/// Tuning records of a row, without platform: the median time of schedules that were timed with
/// warm caches, and the reason for schedules without a time.
std::vector<store::TuningRecord> tuningOf(const OpsRow &row);

/// Points of a comparison, one per side, without experiment; `model` and `setting` are equal for
/// all. A peer whose outputs differ from ours is failed; our side is failed if no peer agrees with
/// it. Constant outputs make a point mistrusted.
std::vector<store::Point> pointsOf(const Comparison &comparison, const store::Problem &model,
                                   const store::Setting &setting);

} // namespace lathe::lab
