#include "codegen/Generate.h"

#include "codegen/Families.h"
#include "codegen/KernelBuilder.h"
#include "ir/SymbolicShapes.h"

namespace lathe {

namespace {

/// Every kernel family, by the name that records give in `lowering`.
const std::vector<const KernelFamily *> &families() {
  static const std::vector<const KernelFamily *> table = {
      &attentionFamily, &contractionFamily, &indexedFamily, &lrnFamily,       &mapFamily,
      &movementFamily,  &normalizeFamily,   &poolFamily,    &recurrentFamily, &reductionFamily,
      &resizeFamily,    &scanFamily,        &softmaxFamily};
  return table;
}

/// The family a kernel function names; declines when no family has that name.
Outcome<const KernelFamily *> familyOf(mlir::func::FuncOp function) {
  auto name = function->getAttrOfType<mlir::StringAttr>("nn.family");
  require(name != nullptr, "kernel '{}' has no attribute nn.family", function.getName().str());
  for (const KernelFamily *family : families())
    if (name.getValue() == family->name)
      return family;
  return NotApplicable{fmt::format("no kernel family is called '{}'", name.getValue().str())};
}

} // namespace

Outcome<Schedule> priorSchedule(const KernelProblem &problem) {
  Outcome<const KernelFamily *> family = familyOf(problem.function);
  if (!family)
    return NotApplicable{family.reason()};
  try {
    return (*family)->prior(problem);
  } catch (const Declined &declined) {
    return NotApplicable{declined.reason};
  }
}

Outcome<GeneratedKernel> generate(const KernelProblem &problem, const Schedule &schedule) {
  Outcome<const KernelFamily *> family = familyOf(problem.function);
  if (!family)
    return NotApplicable{family.reason()};
  try {
    return (*family)->generate(problem, schedule);
  } catch (const Declined &declined) {
    return NotApplicable{declined.reason};
  }
}

Dims dimsOf(mlir::func::FuncOp function, unsigned argument) {
  unsigned arguments = function.getNumArguments();
  if (argument < arguments)
    return nn::argumentDims(function, argument);
  return nn::SymbolicShapes(function).results()[argument - arguments].dims;
}

} // namespace lathe
