#include "compile/SearchSpace.h"

#include "compile/KernelTasks.h"

namespace lathe {

std::vector<KernelSpace> searchSpaces(mlir::ModuleOp module, const CompileOptions &options) {
  std::vector<KernelSpace> spaces;
  for (KernelTask &task : kernelTasks(module, options)) {
    const KernelFacts &facts = *task.facts;
    KernelSpace space{std::move(task.kernels), std::move(task.task), facts.family, "", {}};
    if (Outcome<Schedule> prior = priorSchedule(facts))
      space.prior = prior->str();
    for (const Algorithm &algorithm : algorithms())
      if (algorithm.family == space.family) {
        std::vector<Knob> knobs = facts.knobs(algorithm);
        SpaceSize size = spaceSize(facts, algorithm, knobs);
        space.algorithms.push_back({&algorithm, std::move(knobs), size});
      }
    spaces.push_back(std::move(space));
  }
  return spaces;
}

} // namespace lathe
