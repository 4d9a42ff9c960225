// The plan of a schedule of `separable`.
#pragma once

#include "codegen/space/DirectPlan.h"
#include "codegen/space/LanewisePlan.h"

namespace lathe {

struct SeparablePlan {
  LanewisePlan depthwise;
  DirectPlan pointwise;

  /// Number of rows of the depthwise convolution that form one row of the pointwise convolution.
  int64_t mergedRows() const { return pointwise.conv.out[2] / depthwise.conv.out[2]; }
};

/// Makes the plan. Throws Illegal for an illegal schedule.
SeparablePlan makeSeparablePlan(const ContractionFacts &facts, const SeparableGeometry &pair, const Schedule &schedule);

} // namespace lathe
