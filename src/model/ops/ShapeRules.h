// Comparisons of extents for shape functions. A comparison that depends on symbols is recorded as a
// rule (support/ExtentRule.h).
#pragma once

#include "ops/Shape.h"
#include "support/ExtentRule.h"

#include <vector>

namespace lathe {

// Like mayAgree in ops/Shape.h, these return false only if the relation is known to be false. A comparison that depends
// on symbols returns true and is kept as a rule by the active RuleRecorder. So a shape function must ask only for
// conditions that its operands must satisfy.

/// False only if known to fail: a == 1 or a == wanted.
bool mayBroadcast(const Dim &a, const Dim &wanted);
/// False only if known to fail: a == b, or either is 1.
bool mayMeet(const Dim &a, const Dim &b);
/// False only if known to fail: a >= least.
bool mayReach(const Dim &a, const Dim &least);
/// False only if known to fail: a == divisor, or a is a multiple of divisor > 0.
bool mayDivide(const Dim &divisor, const Dim &a);
/// False only if known to fail: extent > 0, or `results` have no elements, so that no element is read from the axis.
bool mayIndex(const Dim &extent, const Dims &results);

/// True if a contraction multiplies values of one type by weights of the other: both types are equal, or values that
/// passes/half/WidenHalf.cpp keeps as f32 meet the weights of a network of f16.
inline bool fitsWeights(ElementType values, ElementType weights) {
  return values == weights || (values == ElementType::f32 && weights == ElementType::f16);
}

/// Keeps the rules of the shape functions that this thread runs during the recorder's life. Only the innermost recorder
/// receives them.
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
