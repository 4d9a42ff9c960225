// The plan of a schedule of `separable`.
#pragma once

#include "codegen/contraction/direct/DirectPlan.h"
#include "codegen/contraction/lanewise/LanewisePlan.h"

namespace lathe {

struct SeparablePlan {
  SeparableGeometry pair;
  LanewisePlan depthwise;
  DirectPlan pointwise;

  /// Rows of the depthwise convolution that form one row of the pointwise convolution.
  int64_t mergedRows() const { return pointwise.conv.out[2] / depthwise.conv.out[2]; }
};

/// Makes the plan. Throws Illegal for an illegal schedule.
SeparablePlan makeSeparablePlan(const ContractionFacts &facts, const SeparableGeometry &pair, const Schedule &schedule);

Schedule separablePrior(const KernelFacts &facts, const SeparableGeometry &pair);
/// Predicted cycles of a kernel for each of the two convolutions of a `separable` kernel, both by their priors. What the
/// first hands to the second counts as an operand of both.
double separateCycles(const ContractionFacts &facts);
/// True if one kernel for both convolutions is predicted to be faster than a kernel for each. False for kernels of one
/// convolution.
bool separablePays(const KernelFacts &facts);

Prediction predict(const ContractionFacts &facts, const SeparablePlan &plan);
std::vector<LoopNest> nestsOf(const SeparablePlan &plan);
GeneratedKernel generateFrom(const ContractionProblem &problem, const SeparablePlan &plan, const Schedule &schedule);

} // namespace lathe
