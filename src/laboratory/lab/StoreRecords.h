// Converts measurements of the laboratory to store records (store/Records.h).
#pragma once

#include "lab/compare/Compare.h"
#include "lab/ops/OpsLab.h"
#include "store/Records.h"

namespace lathe::lab {

/// Returns the platform of this process: its machine and software.
store::Platform platformHere();

/// Converts seconds to samples in whole nanoseconds. `counts`: processor counters of each round, or empty. Each sample
/// of a round gets an equal share of the counts, and the frequency cycles / processor time.
std::vector<std::vector<store::Sample>> samplesOf(const std::vector<std::vector<double>> &rounds,
                                                  const std::vector<Counts> &counts);
/// Converts samples of the store to seconds, in one list per round.
std::vector<std::vector<double>> secondsOf(const std::vector<std::vector<store::Sample>> &rounds);
/// Seconds of all samples of a point, in the order of the runs.
std::vector<double> secondsOf(const store::Point &point);

/// Makes the points of a measured row, one for each column, in the order of the columns; the points have no experiment
/// yet.
std::vector<store::Point> pointsOf(const OpsRow &row);
/// Gives a point the resources that its measurement held: `text` is Resources::text, which distinguishes it from other
/// points, `held` what the system stated. Does nothing for "".
void setResources(store::Point &point, const std::string &text, const std::map<std::string, std::string> &held);
/// The text of setResources; "": the measurement was not limited.
std::string resourcesText(const store::Setting &setting);

/// Makes the tuning records of a measured row, without platform: the median time of each schedule that was timed with
/// warm caches, and the reason for each schedule without a time.
std::vector<store::TuningRecord> tuningOf(const OpsRow &row);

/// Makes the points of a comparison, one per side, without experiment. `model` and `setting` are equal for all. A peer
/// whose outputs differ from ours gets the status failed; our side gets it if no peer agrees with it. Constant outputs
/// make a point mistrusted.
std::vector<store::Point> pointsOf(const Comparison &comparison, const store::Problem &model,
                                   const store::Setting &setting);

} // namespace lathe::lab
