// What a schedule of `separable` means for a depthwise convolution and the pointwise one behind it.
#pragma once

#include "codegen/space/DirectPlan.h"
#include "codegen/space/LanewisePlan.h"

namespace lathe {

struct SeparablePlan {
  LanewisePlan depthwise;
  DirectPlan pointwise;

  /// Rows of the depthwise convolution that the pointwise one takes for one.
  int64_t mergedRows() const { return pointwise.conv.out[2] / depthwise.conv.out[2]; }
};

/// Throws Illegal.
SeparablePlan makeSeparablePlan(const ContractionFacts &facts, const SeparableGeometry &pair, const Schedule &schedule);

} // namespace lathe
