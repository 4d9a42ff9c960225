// One operator as a network, compiled to a package and run by the runtime, with row-major inputs and outputs.
#pragma once

#include "lab/providers/graph/ProblemGraph.h"
#include "runtime/Context.h"

#include <memory>

namespace lathe::lab {

class LonePackage {
public:
  /// Compiles the network that `build` makes. Declines if the plan leaves an operator to its reference. Throws Error on
  /// failure.
  static Outcome<std::unique_ptr<LonePackage>> make(const Problem &problem, const std::string &target, int threads,
                                                    const ProblemInputs &inputs, BuildResults build = buildAsNamed);
  /// The schedules of the network's kernels, in order.
  const std::string &implementation() const { return description; }
  void run() { context->run(); }
  std::vector<Tensor> outputs() const;
  /// The compiled package. The runtime uses its constants in place.
  std::vector<std::span<const char>> constants() const { return {std::span<const char>(*bytes)}; }

private:
  std::shared_ptr<std::vector<char>> bytes; // the package; it must stay, because constants are used in place
  std::unique_ptr<runtime::Context> context;
  std::string description;
};

} // namespace lathe::lab
