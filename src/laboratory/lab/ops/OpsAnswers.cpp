// Expected results of a problem, their bounds, and the status of a point whose process failed.
#include "lab/ops/OpsRows.h"

#include "ops/Reference.h"

namespace lathe::lab {

PointStatus statusOf(const process::Failure &failure) {
  switch (failure.kind) {
  case process::FailureKind::threw:
    return PointStatus::failed;
  case process::FailureKind::timedOut:
  case process::FailureKind::cpuExceeded:
    return PointStatus::timedOut;
  case process::FailureKind::memoryExceeded:
    return PointStatus::memoryExceeded;
  default:
    return PointStatus::crashed;
  }
}

Agreement agreementWith(const Case &given, size_t i, const std::map<std::string, Tensor> &outputs) {
  const std::string &name = given.names[i];
  if (auto output = outputs.find(name); output != outputs.end())
    return agreementOf(name, output->second, given.references[i], given.tolerance);
  Agreement none;
  none.reason = fmt::format("no output '{}'", name);
  return none;
}

Tolerance toleranceOf(const Problem &problem) {
  Roundings roundings;
  double elements = 0;
  for (auto &tensor : problem.operands)
    roundings.add(tensor.type);
  for (auto &tensor : problem.results()) {
    roundings.add(tensor.type);
    elements += static_cast<double>(tensor.elements());
  }
  roundings.terms = std::max(1.0, elements > 0 ? problem.flops() / elements / 2 : 1);
  return toleranceOf(roundings);
}

std::vector<Tensor> referenceResults(const Problem &problem, const std::vector<Tensor> &operands) {
  std::vector<Value> values;
  for (auto &operand : operands)
    values.emplace_back(operand.defined() && isFloat(operand.type()) ? operand.convertedTo(ElementType::f64) : operand);
  size_t own = problem.byRecord().size(), next = own;
  std::vector<const Value *> pointers;
  for (size_t i = 0; i < own; ++i)
    pointers.push_back(operands[i].defined() ? &values[i] : nullptr);
  auto results = evaluateReference(problem.op, *problem.attrs, pointers);
  for (auto &name : problem.epilogue) {
    std::vector<const Value *> taken = {results.data()};
    if (takesSecondOperand(name))
      taken.push_back(&values.at(next++));
    results[0] = evaluateReference(name, *findOp(name)->makeAttrs(), taken).at(0);
  }
  std::vector<Tensor> tensors;
  for (auto &result : results)
    tensors.push_back(result.tensor());
  return tensors;
}

} // namespace lathe::lab
