// Divides the tuning time among the tasks of a model: the next batch of trials goes to the task where it is expected to
// shorten a run of the model most per second of tuning.
//
// The expected gain of a batch is a share of the task's *potential*: the time of one run above a floor that no schedule
// beats. The share is learned from the batches of the task; newer batches count more. The idea of a scheduler that uses
// expected gains is from Ansor (Zheng et al., OSDI 2020, section 6); the estimate differs.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace lathe::tune {

/// The progress of tuning one task. Times are in seconds.
class TaskProgress {
public:
  /// `count` runs of the kernel in one run of the model; `floor`: a time of one run that no schedule beats; `best`: the
  /// fastest known; `batchSeconds`: estimated time of a batch of trials.
  TaskProgress(double count, double floor, double best, double batchSeconds);

  /// States the time `best` of a run of the kernel that the next batch is expected to reach, as known from other
  /// tasks. Call it before the first batch.
  void expect(double best);
  /// Reports that a batch of trials took `seconds`; `best` is the fastest time of the kernel after it.
  void add(double best, double seconds);
  /// Ends the tuning of the task: the searcher has no more schedules, or a limit of trials is reached.
  void end() { ended = true; }

  bool isEnded() const { return ended; }
  double best() const { return fastest; }
  /// Seconds of all runs of the kernel in one run of the model, with the fastest schedule.
  double modelSeconds() const { return count * fastest; }
  /// The seconds by which the next batch of trials is expected to shorten a run of the model; 0 if the task has ended.
  double expectedGain() const;
  /// The expected duration of the next batch of trials, in seconds.
  double batchSeconds() const { return nextBatch; }

private:
  double count, floor, fastest, nextBatch;
  double gained = 0; // sum of the shares of the potential that batches gained; older batches count less
  size_t batches = 0;
  bool ended = false;

  double potential() const;
};

/// Index of the task whose next batch of trials is expected to gain most per second. Nothing if all tasks have ended,
/// or if the expected gains of one batch of every task add up to less than the share `margin` of a run of the model.
std::optional<size_t> nextTask(const std::vector<TaskProgress> &tasks, double margin);

/// Expected seconds until nextTask returns nothing, if no further batch gains anything.
double secondsToEnd(std::vector<TaskProgress> tasks, double margin);

/// Seconds that the kernels of all tasks take in one run of the model.
double modelSeconds(const std::vector<TaskProgress> &tasks);

} // namespace lathe::tune
