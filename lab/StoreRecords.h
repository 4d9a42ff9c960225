// What the laboratory measures, as the records that are kept (store/Records.h).
#pragma once

#include "lab/compare/Compare.h"
#include "lab/ops/OpsLab.h"
#include "store/Records.h"

namespace lathe::lab {

/// Where this process measures: the machine and the software.
store::Platform platformHere();

/// Seconds as they were measured, to whole nanoseconds. `counts`: of each round, none or as many as there are rounds;
/// each of its samples gets an equal share, and the frequency that its cycles took in processor time.
std::vector<std::vector<store::Sample>> samplesOf(const std::vector<std::vector<double>> &rounds,
                                                  const std::vector<Counts> &counts);
/// And back.
std::vector<std::vector<double>> secondsOf(const std::vector<std::vector<store::Sample>> &rounds);

/// The points of a row, one a column, without experiment, in the columns' order.
std::vector<store::Point> pointsOf(const OpsRow &row);

/// What the row says of schedules, without platform: the median time of those that were timed with warm caches, and why
/// others have none.
std::vector<store::TuningRecord> tuningOf(const OpsRow &row);

/// A point for every side of a comparison, without experiment; `model` and `setting` are the same for all. A peer whose
/// outputs differ from ours has failed, and we have when no peer agrees with us; outputs that are constant make it
/// mistrusted.
std::vector<store::Point> pointsOf(const Comparison &comparison, const store::Problem &model,
                                   const store::Setting &setting);

} // namespace lathe::lab
