#include "ops/ShapeRules.h"
#include "support/DimForms.h"

#include <optional>
#include <utility>

namespace lathe {
namespace {

/// The answer if it is the same for all values of the symbols; nothing if it depends on them.
std::optional<bool> decided(const ExtentRule &rule) {
  const auto &[relation, left, right] = rule;
  if (left.isConstant() && right.isConstant())
    return holds(relation, left.constant(), right.constant());
  bool always = left == right;
  // If `whole` is the result of a broadcast, `part` is 1 or equal to it.
  auto isPartOf = [](const Dim &part, const Dim &whole) {
    return !whole.isConstant() && !part.isConstant() && broadcastDim(part, whole) == whole;
  };
  switch (relation) {
  case Relation::equal:
    break;
  case Relation::oneOrEqual:
    always |= left == Dim(1) || isPartOf(left, right);
    break;
  case Relation::broadcasts:
    always |= left == Dim(1) || right == Dim(1) || isPartOf(left, right) || isPartOf(right, left);
    break;
  case Relation::atLeast:
    always |= isNonNegative(left - right);
    break;
  case Relation::divides:
    always |= !(left == Dim(0)) && right.dividedExactlyBy(left).has_value();
    break;
  }
  return always ? std::optional(true) : std::nullopt;
}

thread_local std::vector<ExtentRule> *recorded = nullptr; // rules of the innermost RuleRecorder

bool mayHold(Relation relation, const Dim &left, const Dim &right) {
  ExtentRule rule{relation, left, right};
  std::optional<bool> known = decided(rule);
  if (!known && recorded)
    recorded->push_back(std::move(rule));
  return known.value_or(true);
}

} // namespace

RuleRecorder::RuleRecorder(std::vector<ExtentRule> &rules) : outer(std::exchange(recorded, &rules)) {}
RuleRecorder::~RuleRecorder() { recorded = outer; }

bool mayAgree(const Dim &a, const Dim &b) { return mayHold(Relation::equal, a, b); }
bool mayBroadcast(const Dim &a, const Dim &wanted) { return mayHold(Relation::oneOrEqual, a, wanted); }
bool mayMeet(const Dim &a, const Dim &b) { return mayHold(Relation::broadcasts, a, b); }
bool mayReach(const Dim &a, const Dim &least) { return mayHold(Relation::atLeast, a, least); }
bool mayDivide(const Dim &divisor, const Dim &a) { return mayHold(Relation::divides, divisor, a); }
bool mayIndex(const Dim &extent, const Dims &results) {
  return extent.constantOr(0) > 0 || mayReach(extent, minimum(product(results), 1));
}

} // namespace lathe
