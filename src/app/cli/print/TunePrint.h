// Output of `lathe tune`: the tasks of a model, progress, and the table at the end.
#pragma once

#include "lab/machine/Machine.h"
#include "support/Table.h"
#include "tune/Tuner.h"

#include <optional>

namespace lathe::cli {

/// The limits of the machine with which times of trials are compared.
struct TuneCeilings {
  lab::MachineCeilings machine; // ceilings of the machine, with the peak that was measured beside the trials
  int threads = 1;
  double peakGflops() const { return machine.gflops(ElementType::f32, threads); }
  /// The share of the roofline that a task reaches if a run of it takes `seconds`.
  double share(const tune::Task &task, double seconds) const;
  /// The seconds that a run of the task would take at the roofline.
  double limitSeconds(const tune::Task &task) const;
};

/// Makes a table of the tasks before tuning: runs, operations, predicted share of the time, size of the search space,
/// trials in the store.
Table listedTasks(const std::vector<tune::TaskToTune> &tasks);

/// A line of progress after a batch of trials: "3/23 conv ...: 120 GFLOPS, best 131 (65 % of peak); model 12.31 ms
/// (13.20 before), 320 trials, 3 failed".
std::string progressText(const std::vector<tune::TaskToTune> &tasks, const tune::TuneState &state,
                         const std::optional<TuneCeilings> &ceilings);

/// Makes a table of the tasks after tuning, sorted by their gain for the model.
Table tunedTasks(const std::vector<tune::TaskToTune> &tasks, const std::vector<tune::TunedTask> &tuned,
                 const std::optional<TuneCeilings> &ceilings);

} // namespace lathe::cli
