// Division of the tuning time over the tasks of a model: the next batch of trials goes to the task where it is expected to
// shorten a run of the model most for the time that it takes.
//
// The expected gain of a batch is a share of the task's *potential*, the time of one run above a floor that no schedule
// beats. The share is learned from the batches of the task; the newest count most. The idea of a scheduler over tasks by
// expected gain is from Ansor (Zheng et al., OSDI 2020, section 6); the estimate differs.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace lathe::tune {

/// What the tuner knows of a task's progress. Times in seconds.
class TaskProgress {
public:
  /// `count` runs of the kernel in one run of the model; `floor`: a time of one run that no schedule beats; `best`: the
  /// fastest known; `batchSeconds`: estimated time of a batch of trials.
  TaskProgress(double count, double floor, double best, double batchSeconds);

  /// The next batch is expected to reach the time `best`, by what is known of other tasks. Before the first batch.
  void expect(double best);
  /// Reports a batch that took `seconds`; `best` is the fastest time after it.
  void add(double best, double seconds);
  /// The searcher has no other schedule, or a limit of trials is reached.
  void end() { ended = true; }

  bool isEnded() const { return ended; }
  double best() const { return fastest; }
  /// Time of all runs in one run of the model.
  double modelSeconds() const { return count * fastest; }
  /// What the next batch is expected to take off a run of the model; 0 at the end.
  double expectedGain() const;
  /// Expected time of the next batch.
  double batchSeconds() const { return nextBatch; }

private:
  double count, floor, fastest, nextBatch;
  double gained = 0; // sum of the shares of the potential that batches gained, older ones count less
  size_t batches = 0;
  bool ended = false;

  double potential() const;
};

/// Index of the task whose next batch gains most per second; nothing where all tasks have ended, or where the expected
/// gains of one batch of every task add up to less than `margin` of a run of the model.
std::optional<size_t> nextTask(const std::vector<TaskProgress> &tasks, double margin);

/// Seconds until nextTask returns nothing if no batch gains anything any more.
double secondsToEnd(std::vector<TaskProgress> tasks, double margin);

/// Time of the runs of all tasks in one run of the model.
double modelSeconds(const std::vector<TaskProgress> &tasks);

} // namespace lathe::tune
