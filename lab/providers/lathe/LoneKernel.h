// One operator as one kernel function, generated and linked as `lathe compile` does, with activations in the layout
// that a network around the operator would keep them in.
#pragma once

#include "codegen/Target.h"
#include "lab/providers/Provider.h"
#include "package/KernelAbi.h"
#include "runtime/ThreadPool.h"

#include <memory>
#include <optional>

namespace lathe::lab {

struct LoneKernelOptions {
  bool rowMajor = false;  // activations row-major, nothing else tried
  bool exactMath = false; // no Winograd
  int threads = 1;
};

class LoneKernel {
public:
  /// Declines with the reasons of every layout tried. Throws Error.
  static Outcome<std::unique_ptr<LoneKernel>> make(const Problem &problem, const Target &target,
                                                   const LoneKernelOptions &options, const ProblemInputs &inputs);
  ~LoneKernel();
  /// "winograd/1 m=4 ..., nChw16c to nChw16c"
  const std::string &implementation() const;
  void run(runtime::ThreadPool &pool) const;
  std::vector<Tensor> outputs() const;

private:
  struct State;
  explicit LoneKernel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace lathe::lab
