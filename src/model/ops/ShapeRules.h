// Comparisons of extents for shape functions. A comparison that depends on symbols is recorded as a
// rule (support/ExtentRule.h).
#pragma once

#include "ops/Shape.h"
#include "support/ExtentRule.h"

#include <vector>

namespace lathe {

// The functions below, like mayAgree in ops/Shape.h, return false only if the relation is known to be false. A
// comparison that depends on symbols returns true and is kept as a rule by the active RuleRecorder. So a shape
// function must ask only for conditions that its operands must satisfy.

/// The relation "a == 1 or a == wanted"; false only if it is known to be false.
bool mayBroadcast(const Dim &a, const Dim &wanted);
/// The relation "a == b, or a or b is 1"; false only if it is known to be false.
bool mayMeet(const Dim &a, const Dim &b);
/// The relation "a >= least"; false only if it is known to be false.
bool mayReach(const Dim &a, const Dim &least);
/// The relation "a == divisor, or a is a multiple of divisor > 0"; false only if it is known to be false.
bool mayDivide(const Dim &divisor, const Dim &a);
/// The relation "extent > 0, or `results` have no elements", which an operator needs that reads from an axis of this
/// extent by index; false only if it is known to be false.
bool mayIndex(const Dim &extent, const Dims &results);

/// True if a contraction can multiply values of type `values` by weights of type `weights`: both types are equal, or
/// values that passes/half/WidenHalf.cpp keeps as f32 meet the weights of a network of f16.
inline bool fitsWeights(ElementType values, ElementType weights) {
  return values == weights || (values == ElementType::f32 && weights == ElementType::f16);
}

/// Collects the rules of the shape functions that this thread runs while the recorder lives. Only the innermost
/// recorder receives them.
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
