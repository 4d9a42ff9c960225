// The cost of `separable`, and whether its kernel is faster than a kernel for each of its convolutions.
#include "codegen/contraction/common/ContractionCost.h"
#include "codegen/contraction/separable/SeparablePlan.h"

namespace lathe {

Prediction predict(const ContractionFacts &facts, const SeparablePlan &plan) {
  Cost cost(facts);
  cost.passOperands(int(plan.pointwise.conv.weights));
  double images = valueOf(plan.depthwise.conv.images);
  cost.compute += images * lanewiseCycles(facts.target, plan.depthwise, double(facts.operators / 2));
  // A range of rows is kept in scratch between the two convolutions.
  auto items = addDirect(cost, plan.pointwise, double(facts.operators - facts.operators / 2));
  double range = double(plan.pointwise.heldUnits()) * 4;
  cost.readAgain(images * double(plan.pointwise.chunks()) * range, range);
  cost.compute += images * double(plan.pointwise.chunks()) * double(plan.depthwise.blocks()) * turnCycles;
  return cost.finish(items, exposedOfProducts);
}

namespace {

/// Facts of a kernel of `conv` alone, without its operands.
ContractionFacts alone(const ContractionFacts &both, const ConvGeometry &conv, int64_t operators) {
  ContractionFacts facts;
  facts.family = both.family;
  facts.target = both.target;
  static_cast<KernelOptions &>(facts) = both;
  facts.conv = conv;
  facts.blockedResults = conv.outBlock != 0;
  facts.operators = operators;
  return facts;
}

/// Cycles of the fastest schedule by the prior, operands included.
double cyclesOf(const ContractionFacts &facts) { return facts.predict(facts.prior()).total(); }

} // namespace

double separateCycles(const ContractionFacts &facts) {
  const SeparableGeometry &pair = *facts.separable;
  ContractionFacts first = alone(facts, pair.depthwise, facts.operators / 2);
  ContractionFacts second = alone(facts, pair.pointwise, facts.operators - facts.operators / 2);
  const ConvGeometry &conv = pair.depthwise;
  TensorFacts between{conv.type, {conv.images, conv.groups}, conv.outBlock};
  for (int64_t extent : conv.out)
    between.dims.push_back(extent);
  first.outputs = {between};
  second.inputs = {between};
  second.outputs = facts.outputs;
  auto take = [&](ContractionFacts &kernel, unsigned operand) {
    kernel.inputs.push_back(facts.inputs[operand]);
    return unsigned(kernel.inputs.size() - 1);
  };
  for (unsigned operand = 0; operand < facts.inputs.size(); ++operand) {
    if (operand == conv.input)
      first.conv->input = take(first, operand);
    else if (operand == conv.weights)
      first.conv->weights = take(first, operand);
    else if (operand == conv.bias)
      first.conv->bias = take(first, operand);
    else if (operand == pair.pointwise.weights)
      second.conv->weights = take(second, operand);
    else
      take(second, operand);
  }
  second.conv->input = 0;
  return cyclesOf(first) + cyclesOf(second);
}

bool separablePays(const KernelFacts &facts) {
  // Pairs that are predicted to save less took from 6 % less to 8 % more (docs/notes/separable.md).
  constexpr double doubt = 1.0 / 12;
  auto *both = dynamic_cast<const ContractionFacts *>(&facts);
  return both && both->separable && cyclesOf(*both) < (1 - doubt) * separateCycles(*both);
}

std::vector<LoopNest> nestsOf(const SeparablePlan &plan) {
  std::vector<LoopNest> nests = nestsOf(plan.pointwise), first = nestsOf(plan.depthwise);
  nests.insert(nests.end(), first.begin(), first.end());
  return nests;
}

} // namespace lathe
