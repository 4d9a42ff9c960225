// One operator as one kernel function, generated and linked as `lathe compile` does, with activations in the layout
// that a network around the operator would keep them in.
#pragma once

#include "codegen/target/Target.h"
#include "lab/providers/Provider.h"
#include "package/KernelAbi.h"
#include "runtime/ThreadPool.h"

#include <memory>
#include <optional>

namespace lathe::lab {

struct LoneKernelOptions {
  ActivationLayout layout = ActivationLayout::any; // any: what a network keeps, else row-major
  bool exactMath = false;                          // no Winograd by the prior
  int threads = 1;
  std::string schedule = {}; // "": the prior's. Of the layouts the first it is legal for is taken
};

class LoneKernel {
public:
  /// Declines with the reasons of every layout tried. Throws Error.
  static Outcome<std::unique_ptr<LoneKernel>> make(const Problem &problem, const Target &target,
                                                   const LoneKernelOptions &options, const ProblemInputs &inputs);
  /// The task (codegen/Task.h) of the kernel that the prior makes of it; `options.schedule` is ignored.
  static Outcome<std::string> task(const Problem &problem, const Target &target, const LoneKernelOptions &options);
  ~LoneKernel();
  /// "winograd/1 m=4 ..., nChw16c to nChw16c"
  const std::string &implementation() const;
  const TaskSchedule &scheduled() const;
  void run(runtime::ThreadPool &pool) const;
  std::vector<Tensor> outputs() const;
  /// Where its constant operands lie, packed.
  std::vector<std::span<const char>> constants() const;

private:
  struct State;
  explicit LoneKernel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace lathe::lab
