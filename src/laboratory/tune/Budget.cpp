#include "tune/Budget.h"

#include <algorithm>
#include <limits>

namespace lathe::tune {
namespace {

// The expected share of its potential that a task's first batch gains, with the weight of one batch.
constexpr double firstShare = 0.2;
// Lower limit for the share expected from other tasks: they may not show how this task can gain.
constexpr double leastFirstShare = 0.05;
// The weight of a batch's gain is multiplied by this for every later batch.
constexpr double fading = 0.9;
// The floor of a task may be wrong, so at least this share of its time counts as potential.
constexpr double leastPotential = 0.05;

} // namespace

TaskProgress::TaskProgress(double count, double floor, double best, double batchSeconds)
    : count(count), floor(floor), fastest(best), nextBatch(batchSeconds), gained(firstShare) {}

double TaskProgress::potential() const { return std::max(fastest - floor, leastPotential * fastest); }

void TaskProgress::expect(double best) { gained = std::clamp((fastest - best) / potential(), leastFirstShare, 1.0); }

void TaskProgress::add(double best, double seconds) {
  double share = std::clamp((fastest - best) / potential(), 0.0, 1.0);
  gained = fading * gained + share;
  ++batches;
  fastest = std::min(fastest, best);
  constexpr double newest = 0.5;
  nextBatch = batches == 1 ? seconds : (1 - newest) * nextBatch + newest * seconds;
}

double TaskProgress::expectedGain() const {
  return ended ? 0 : count * potential() * gained / static_cast<double>(batches + 1);
}

std::optional<size_t> nextTask(const std::vector<TaskProgress> &tasks, double margin) {
  double all = 0, most = 0;
  std::optional<size_t> next;
  for (size_t i = 0; i < tasks.size(); ++i) {
    double gain = tasks[i].expectedGain();
    all += gain;
    double rate = gain / std::max(tasks[i].batchSeconds(), 1e-9);
    if (!tasks[i].isEnded() && (!next || rate > most)) {
      most = rate;
      next = i;
    }
  }
  return all < margin * modelSeconds(tasks) ? std::nullopt : next;
}

double secondsToEnd(std::vector<TaskProgress> tasks, double margin) {
  constexpr int most = 10000; // batches; with a margin of 0 the loop would not end
  double seconds = 0;
  for (int i = 0; i < most; ++i) {
    std::optional<size_t> next = nextTask(tasks, margin);
    if (!next)
      return seconds;
    seconds += tasks[*next].batchSeconds();
    tasks[*next].add(tasks[*next].best(), tasks[*next].batchSeconds());
  }
  return std::numeric_limits<double>::infinity();
}

double modelSeconds(const std::vector<TaskProgress> &tasks) {
  double sum = 0;
  for (const TaskProgress &task : tasks)
    sum += task.modelSeconds();
  return sum;
}

} // namespace lathe::tune
