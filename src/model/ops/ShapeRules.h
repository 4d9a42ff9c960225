// Comparisons of extents for shape functions. A comparison that depends on symbols is recorded as a
// rule (support/ExtentRule.h).
#pragma once

#include "ops/Shape.h"
#include "support/ExtentRule.h"

#include <vector>

namespace lathe {

// As mayAgree in ops/Shape.h, these return false only when the relation is known not to hold. A
// comparison that depends on symbols returns true and is kept as a rule where a RuleRecorder is
// active, so a shape function asks only for what its operands must satisfy.

/// a == 1 or a == wanted.
bool mayBroadcast(const Dim &a, const Dim &wanted);
/// a == b, or either is 1.
bool mayMeet(const Dim &a, const Dim &b);
/// a >= least.
bool mayReach(const Dim &a, const Dim &least);
/// a == divisor, or a is a multiple of divisor > 0.
bool mayDivide(const Dim &divisor, const Dim &a);
/// extent > 0, or `results` have no elements: then nothing is taken from the axis.
bool mayIndex(const Dim &extent, const Dims &results);

/// True if a contraction multiplies values of one type by weights of the other: both types are equal, or values that
/// passes/half/WidenHalf.cpp keeps as f32 meet the weights of a network of f16.
inline bool fitsWeights(ElementType values, ElementType weights) {
  return values == weights || (values == ElementType::f32 && weights == ElementType::f16);
}

/// Keeps the rules of the shape functions that this thread runs during its life. The innermost
/// recorder counts.
class RuleRecorder {
public:
  explicit RuleRecorder(std::vector<ExtentRule> &rules);
  ~RuleRecorder();
  RuleRecorder(const RuleRecorder &) = delete;
  RuleRecorder &operator=(const RuleRecorder &) = delete;

private:
  std::vector<ExtentRule> *outer;
};

} // namespace lathe
