// Adds rules over extents to the plan, which the runtime checks when inputs are bound.
#pragma once

#include "ir/ExtentRules.h"
#include "package/plan_generated.h"

#include <span>

namespace lathe {

/// Adds `rules` to a plan that already has its values, without duplicates. Rules with a symbol that
/// is neither the extent of an input nor of a dynamic value are left out, because nothing binds the
/// symbol.
void addRules(plan::PlanT &plan, std::span<const nn::NodeRule> rules);

} // namespace lathe
