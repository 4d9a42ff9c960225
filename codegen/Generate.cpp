#include "codegen/Generate.h"

#include "codegen/Families.h"
#include "codegen/builder/KernelBuilder.h"
#include "ir/SymbolicShapes.h"
#include "schedule/Algorithms.h"
#include "support/Text.h"

#include "mlir/IR/TypeUtilities.h"

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

/// Throws Declined for element types whose conversions the target has no instructions for: they would be library calls,
/// and a kernel imports nothing. Movement converts nothing.
void requireConversions(const KernelProblem &problem) {
  const Target &target = problem.target;
  if (target.triple.rfind("x86_64", 0) != 0 || target.has("f16c") ||
      problem.function->getAttrOfType<mlir::StringAttr>("nn.family").getValue() == "movement")
    return;
  auto check = [](mlir::Type type) {
    if (mlir::getElementTypeOrSelf(type).isF16())
      throw Declined{"the target has no conversions of float16 (f16c)"};
  };
  mlir::func::FuncOp function = problem.function;
  for (mlir::Type type : function.getArgumentTypes())
    check(type);
  function.walk([&](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      check(type);
  });
}

/// Throws Declined for operands and results that never have elements. A family divides by extents and packs whole
/// vectors; what is left to compute over nothing is little, and references define it.
void requireElements(mlir::func::FuncOp function) {
  auto check = [](mlir::Type type) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (tensor && llvm::is_contained(tensor.getShape(), 0))
      throw Declined{"it computes with a tensor that has no elements"};
  };
  for (mlir::Type type : function.getArgumentTypes())
    check(type);
  function.walk([&](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      check(type);
  });
}

/// A prior may want more than any schedule has, of a problem without bounds: throws Declined then.
void requireDeclared(const Schedule &chosen) {
  try {
    validate(chosen);
  } catch (const Error &error) {
    throw Declined{error.what()};
  }
}

/// Throws Error for a schedule that is not declared as it stands, Declined for one of another family.
void requireOwn(const KernelFamily &family, const Schedule &schedule) {
  const Algorithm &algorithm = validate(schedule);
  if (std::string_view(algorithm.family) == family.name)
    return;
  std::vector<std::string> own;
  for (const Algorithm &candidate : algorithms())
    if (std::string_view(candidate.family) == family.name)
      own.push_back(candidate.str());
  throw Declined{fmt::format("{} is no algorithm of the family '{}', expected {}", algorithm.str(), family.name,
                             listed(own, "or"))};
}

} // namespace

Outcome<Schedule> priorSchedule(const KernelProblem &problem) {
  Outcome<const KernelFamily *> family = familyOf(problem.function);
  if (!family)
    return NotApplicable{family.reason()};
  try {
    requireElements(problem.function);
    requireConversions(problem);
    Outcome<Schedule> chosen = (*family)->prior(problem);
    if (chosen)
      requireDeclared(*chosen);
    return chosen;
  } catch (const Declined &declined) {
    return NotApplicable{declined.reason};
  }
}

Outcome<GeneratedKernel> generate(const KernelProblem &problem, const Schedule &schedule) {
  Outcome<const KernelFamily *> family = familyOf(problem.function);
  if (!family)
    return NotApplicable{family.reason()};
  try {
    requireElements(problem.function);
    requireConversions(problem);
    requireOwn(**family, schedule);
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
