// The operator of one benchmark problem as one kernel, generated and linked like in `lathe compile`. Its inputs and
// outputs have the layout that they have in a network.
#pragma once

#include "compile/ScheduleSource.h"
#include "lab/providers/Provider.h"
#include "package/KernelAbi.h"
#include "runtime/ThreadPool.h"

#include <memory>

namespace lathe::lab {

struct LoneKernelOptions {
  /// Layout of the inputs and outputs. Any: the layout that a network would use, or row-major if that is not possible.
  ActivationLayout layout = ActivationLayout::any;
  int threads = 1;
  /// Where the schedule comes from. The first layout for which this source has a legal schedule is used.
  std::shared_ptr<const ScheduleSource> schedules = std::make_shared<PriorSchedules>();
};

class LoneKernel {
public:
  /// Makes the kernel of `problem`. Declines with the reasons for every layout tried. Throws Error if the generation
  /// fails.
  static Outcome<std::unique_ptr<LoneKernel>> make(const Problem &problem, const Target &target,
                                                   const LoneKernelOptions &options, const ProblemInputs &inputs);
  /// Returns the task (codegen/Task.h) of the kernel that `make` would make, or declines like it.
  static Outcome<std::string> task(const Problem &problem, const Target &target, const LoneKernelOptions &options);
  ~LoneKernel();
  /// Returns the schedule and the layouts in the form that the laboratory reports: "winograd/2 m=4 ..., nChw16c to
  /// nChw16c".
  const std::string &implementation() const;
  const TaskSchedule &scheduled() const;
  void run(runtime::ThreadPool &pool) const;
  std::vector<Tensor> outputs() const;
  /// Returns the memory of the kernel's packed constant operands.
  std::vector<std::span<const char>> constants() const;

private:
  struct State;
  explicit LoneKernel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace lathe::lab
