// Checks and times schedules of one kernel in turns.
#pragma once

#include "Times.h"
#include "codegen/testing/KernelTesting.h"

namespace lathe::study {

/// Inputs of a kernel and the results of the reference operators. Consecutive kernels with the same text share them.
struct Operands {
  std::string text;
  std::vector<Tensor> inputs, expected;

  void use(KernelUnderTest &under, const TimedKernel &kernel);
};

/// Compiles schedules of one kernel, compares their results with the references, and times them in turns. Packed
/// weights come from memory for every run, as in a network; other operands lie where the previous run left them.
class ScheduleTimer {
public:
  /// The arguments must outlive the object. Kernels run on `kernel.threads` threads.
  ScheduleTimer(TimedKernel &kernel, const Target &target, Operands &operands);

  /// Adds a schedule to be timed. A schedule with a wrong result is counted, reported on the standard error and not
  /// timed. Throws Error for an illegal schedule.
  void add(const std::string &schedule);
  /// Times the added schedules into `kernel.schedules`, until the time `until` of lab::steadySeconds, but at least two
  /// rounds.
  void time(double until);

private:
  struct Running {
    std::unique_ptr<KernelUnderTest::Trial> trial;
    TimedSchedule timed;
  };
  TimedKernel &kernel;
  KernelUnderTest under;
  Operands &operands;
  runtime::ThreadPool pool;
  std::vector<Running> running;

  bool agrees(const std::vector<Tensor> &got, const std::string &schedule) const;
};

} // namespace lathe::study
