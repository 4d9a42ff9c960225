// One operator as one kernel, generated and linked as `lathe compile` does, with activations in the
// layout that they would have in a network.
#pragma once

#include "codegen/space/KernelFacts.h"
#include "lab/providers/Provider.h"
#include "package/KernelAbi.h"
#include "runtime/ThreadPool.h"

#include <memory>
#include <optional>

namespace lathe::lab {

struct LoneKernelOptions {
  ActivationLayout layout = ActivationLayout::any; // any: the layout that a network would use, else row-major
  int threads = 1;
  std::string schedule = {}; // "": the prior's choice. The first layout for which the schedule is legal is used
  /// Without a schedule: only this algorithm. Nothing: the prior chooses it.
  std::optional<AlgorithmChoice> algorithm = {};
};

class LoneKernel {
public:
  /// Makes the kernel. Declines with the reasons for every layout tried. Throws Error on failure.
  static Outcome<std::unique_ptr<LoneKernel>> make(const Problem &problem, const Target &target,
                                                   const LoneKernelOptions &options, const ProblemInputs &inputs);
  /// The task (codegen/Task.h) of the kernel that the prior would make; `options.schedule` is
  /// ignored.
  static Outcome<std::string> task(const Problem &problem, const Target &target, const LoneKernelOptions &options);
  ~LoneKernel();
  /// "winograd/2 m=4 ..., nChw16c to nChw16c"
  const std::string &implementation() const;
  const TaskSchedule &scheduled() const;
  void run(runtime::ThreadPool &pool) const;
  std::vector<Tensor> outputs() const;
  /// Memory of its packed constant operands.
  std::vector<std::span<const char>> constants() const;

private:
  struct State;
  explicit LoneKernel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace lathe::lab
