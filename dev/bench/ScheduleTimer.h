// For rank-bench and prior-bench: checks and times schedules of one kernel in turns.
#pragma once

#include "codegen/testing/KernelTesting.h"
#include "ops/InputBound.h"

#include <nlohmann/json.hpp>

namespace lathe {

/// Seconds of a steady clock.
double now();

/// The time of one schedule with what was predicted for it.
struct TimedSchedule {
  std::string schedule;
  double seconds = 0;        // the least of all runs
  double halves[2] = {0, 0}; // the least of the runs of every other round
  Prediction prediction;
};

/// Compiles schedules of one kernel, compares their results with the references, and times them in turns. Packed
/// weights come from memory for every run, as in a network; other operands lie where the run before left them.
class ScheduleTimer {
public:
  /// `expected`: results of the references for `inputs`. Kernels run on the threads for which `kernel` is planned.
  ScheduleTimer(KernelUnderTest &kernel, std::span<const Tensor> inputs, std::vector<Tensor> expected);
  ~ScheduleTimer();

  /// Returns false for a schedule with a wrong result, which is not timed. Throws Error for an illegal one.
  bool add(const std::string &schedule);
  /// Times what was added, until the time `until` of now(), at least two rounds.
  std::vector<TimedSchedule> time(double until);

private:
  struct Running;
  KernelUnderTest &kernel;
  std::span<const Tensor> inputs;
  std::vector<Tensor> expected;
  runtime::ThreadPool pool;
  std::vector<Running> running;

  bool agrees(const std::vector<Tensor> &got, const std::string &schedule) const;
};

/// Sets the predictions.
void predict(std::vector<TimedSchedule> &schedules, const KernelFacts &facts);

nlohmann::json toJson(const std::vector<TimedSchedule> &schedules);
/// The times of toJson, without predictions.
std::vector<TimedSchedule> timesFrom(const nlohmann::json &schedules);

} // namespace lathe
