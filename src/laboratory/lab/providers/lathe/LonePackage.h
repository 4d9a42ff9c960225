// The operator of one benchmark problem as a network, compiled to a package and run by the runtime, with row-major
// inputs and outputs.
#pragma once

#include "lab/providers/graph/ProblemGraph.h"
#include "runtime/Context.h"

#include <memory>

namespace lathe::lab {

class LonePackage {
public:
  /// Compiles the network that `build` makes from `problem`. Declines if no kernel can be generated for an operator,
  /// which the reference function would then compute. Throws Error if the compilation fails.
  static Outcome<std::unique_ptr<LonePackage>> make(const Problem &problem, const std::string &target, int threads,
                                                    const ProblemInputs &inputs, BuildResults build = buildAsNamed);
  /// Returns the schedules of the network's kernels, in the order of the kernels.
  const std::string &implementation() const { return description; }
  void run() { context->run(); }
  std::vector<Tensor> outputs() const;
  /// Returns the memory of the compiled package, in which the runtime uses the constants in place.
  std::vector<std::span<const char>> constants() const { return {std::span<const char>(*bytes)}; }

private:
  // the compiled package; must outlive `context`, which uses its constants in place
  std::shared_ptr<std::vector<char>> bytes;
  std::unique_ptr<runtime::Context> context;
  std::string description;
};

} // namespace lathe::lab
