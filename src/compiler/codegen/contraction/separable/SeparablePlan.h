// Plan of a kernel that computes a depthwise and a pointwise convolution together, by the algorithm `separable`.
#pragma once

#include "codegen/contraction/direct/DirectPlan.h"
#include "codegen/contraction/lanewise/LanewisePlan.h"

namespace lathe {

struct SeparablePlan {
  SeparableGeometry pair;
  LanewisePlan depthwise;
  DirectPlan pointwise;

  /// Number of rows of the depthwise convolution that form one row of the pointwise convolution.
  int64_t mergedRows() const { return pointwise.conv.out[2] / depthwise.conv.out[2]; }
};

/// Makes the plan for a schedule of `separable`. Throws Illegal for an illegal schedule.
SeparablePlan makeSeparablePlan(const ContractionFacts &facts, const SeparableGeometry &pair, const Schedule &schedule);

Schedule separablePrior(const KernelFacts &facts, const SeparableGeometry &pair);
/// Returns the predicted cycles for two separate kernels, one for each convolution of a `separable` kernel, both with
/// the schedules that the hand-written rules choose. What the first convolution hands to the second counts as an
/// operand of both.
double separateCycles(const ContractionFacts &facts);
/// True if one kernel for both convolutions is predicted to be faster than two separate kernels. False for a kernel
/// with only one convolution.
bool separablePays(const KernelFacts &facts);

Prediction predict(const ContractionFacts &facts, const SeparablePlan &plan);
std::vector<LoopNest> nestsOf(const SeparablePlan &plan);
GeneratedKernel generateFrom(const ContractionProblem &problem, const SeparablePlan &plan, const Schedule &schedule);

} // namespace lathe
