#include "compile/SearchSpace.h"

#include "codegen/Task.h"
#include "compile/Kernels.h"

#include <map>

namespace lathe {

std::vector<KernelSpace> searchSpaces(mlir::ModuleOp module, const CompileOptions &options) {
  lowerToKernels(module, options);
  Target target = targetOf(options);
  std::vector<KernelSpace> spaces;
  std::map<std::string, size_t> known; // by identity
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (!function->hasAttr("nn.family"))
      continue;
    auto [found, added] = known.try_emplace(kernelIdentity(function), spaces.size());
    if (!added) {
      spaces[found->second].kernels.push_back(function.getName().str());
      continue;
    }
    KernelProblem problem = problemOf(function, target, kernelOptionsOf(options));
    Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(problem);
    require(facts.done(), "kernel @{}: {}", function.getName().str(), facts ? "" : facts.reason());
    KernelSpace space{{function.getName().str()}, taskOf(problem), (*facts)->family, "", {}};
    if (Outcome<Schedule> prior = priorSchedule(**facts))
      space.prior = prior->str();
    for (const Algorithm &algorithm : algorithms())
      if (algorithm.family == space.family) {
        std::vector<Knob> knobs = (*facts)->knobs(algorithm);
        SpaceSize size = spaceSize(**facts, algorithm, knobs);
        space.algorithms.push_back({&algorithm, std::move(knobs), size});
      }
    spaces.push_back(std::move(space));
  }
  return spaces;
}

} // namespace lathe
