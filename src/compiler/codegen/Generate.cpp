#include "codegen/Generate.h"

#include "codegen/Families.h"
#include "ir/SymbolicShapes.h"
#include "schedule/Algorithms.h"
#include "support/Text.h"

#include "mlir/IR/TypeUtilities.h"

namespace lathe {

namespace {

/// Every kernel family.
const std::vector<const KernelFamily *> &families() {
  static const std::vector<const KernelFamily *> table = {
      &attentionFamily, &contractionFamily, &indexedFamily,   &lrnFamily,       &mapFamily,
      &movementFamily,  &normalizeFamily,   &poolFamily,      &recurrentFamily, &reductionFamily,
      &resizeFamily,    &scanFamily,        &selectionFamily, &softmaxFamily};
  return table;
}

/// The family that a kernel function names, for the target's device; declines when there is none.
Outcome<const KernelFamily *> familyOf(const KernelProblem &problem) {
  mlir::func::FuncOp function = problem.function;
  auto name = function->getAttrOfType<mlir::StringAttr>("nn.family");
  require(name != nullptr, "kernel '{}' has no attribute nn.family", function.getName().str());
  for (const KernelFamily *family : families())
    if (name.getValue() == family->name && family->device == problem.target.device)
      return family;
  return NotApplicable{fmt::format("no kernel family is called '{}'", name.getValue().str())};
}

/// Throws Declined for element types that the target cannot convert with instructions: conversions would be library
/// calls, and a kernel imports nothing. Movement converts nothing.
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

/// Throws Declined for operands and results that never have elements. Families divide by extents and pack whole
/// vectors; the little that is left to compute without elements, references do.
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

/// Fills the members of KernelFacts that every family has.
void describe(const KernelProblem &problem, const KernelFamily &family, KernelFacts &facts) {
  facts.family = family.name;
  facts.target = problem.target;
  static_cast<KernelOptions &>(facts) = problem;
  mlir::func::FuncOp function = problem.function;
  auto assumed = [&](const std::string &symbol) -> std::optional<Dim> {
    auto found = facts.assumed.find(symbol);
    return found == facts.assumed.end() ? std::nullopt : std::optional<Dim>(found->second);
  };
  auto tensor = [&](mlir::Value value, Dims dims) {
    nn::BlockedAttr layout = nn::layoutOf(value);
    for (Dim &dim : dims)
      dim = facts.assumed.empty() ? dim : dim.substitute(assumed);
    return TensorFacts{nn::infoOf(value).type, std::move(dims), layout ? layout.getSize() : 0, false};
  };
  for (mlir::BlockArgument argument : function.getArguments()) {
    facts.inputs.push_back(tensor(argument, nn::argumentDims(function, argument.getArgNumber())));
    facts.inputs.back().constant = function.getArgAttr(argument.getArgNumber(), "nn.constant") != nullptr;
  }
  std::vector<TensorInfo> results = nn::SymbolicShapes(function).results();
  for (auto [value, info] : llvm::zip(function.getBody().front().getTerminator()->getOperands(), results))
    facts.outputs.push_back(tensor(value, info.dims));
}

} // namespace

Outcome<std::unique_ptr<KernelFacts>> readFacts(const KernelProblem &problem) {
  Outcome<const KernelFamily *> family = familyOf(problem);
  if (!family)
    return NotApplicable{family.reason()};
  try {
    requireElements(problem.function);
    requireConversions(problem);
    std::unique_ptr<KernelFacts> facts = (*family)->read(problem);
    describe(problem, **family, *facts);
    return facts;
  } catch (const Declined &declined) {
    return NotApplicable{declined.reason};
  }
}

Outcome<ScheduleChoice> priorChoice(const KernelFacts &facts, const std::optional<AlgorithmChoice> &only) {
  try {
    return bestPrediction(facts, only);
  } catch (const Illegal &none) {
    return NotApplicable{none.reason};
  } catch (const Error &error) {
    return NotApplicable{error.what()};
  }
}

Outcome<Schedule> priorSchedule(const KernelFacts &facts, const std::optional<AlgorithmChoice> &only) {
  Outcome<ScheduleChoice> choice = priorChoice(facts, only);
  return choice ? Outcome<Schedule>(choice->schedule()) : NotApplicable{choice.reason()};
}

Outcome<Schedule> priorSchedule(const KernelProblem &problem, const std::optional<AlgorithmChoice> &only) {
  Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(problem);
  return facts ? priorSchedule(**facts, only) : NotApplicable{facts.reason()};
}

Outcome<double> predictCycles(const KernelProblem &problem) {
  Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(problem);
  if (!facts)
    return NotApplicable{facts.reason()};
  Outcome<Schedule> schedule = priorSchedule(**facts);
  return schedule ? Outcome<double>((*facts)->predict(*schedule).total()) : NotApplicable{schedule.reason()};
}

Outcome<GeneratedKernel> generate(const KernelProblem &problem, const KernelFacts &facts, const Schedule &schedule) {
  if (Legality legality = legal(facts, schedule); !legality)
    return NotApplicable{legality.reason};
  Outcome<const KernelFamily *> family = familyOf(problem);
  try {
    return (*family)->generate(problem, facts, schedule);
  } catch (const Declined &declined) {
    // readFacts should have found it; references can still compute the kernel.
    return NotApplicable{declined.reason};
  }
}

Outcome<GeneratedKernel> generate(const KernelProblem &problem, const Schedule &schedule) {
  validate(schedule);
  Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(problem);
  return facts ? generate(problem, **facts, schedule) : NotApplicable{facts.reason()};
}

Dims dimsOf(mlir::func::FuncOp function, unsigned argument) {
  unsigned arguments = function.getNumArguments();
  if (argument < arguments)
    return nn::argumentDims(function, argument);
  return nn::SymbolicShapes(function).results()[argument - arguments].dims;
}

} // namespace lathe
