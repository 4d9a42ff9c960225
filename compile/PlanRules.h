// Rules over extents in the plan: what the runtime checks when inputs are bound.
#pragma once

#include "ir/ExtentRules.h"
#include "package/plan_generated.h"

#include <span>

namespace lathe {

/// Adds `rules` to a plan that has its values; rules that it has are not repeated. Rules with a symbol
/// that is the extent of neither an input nor a dynamic value are left out: nothing would bind it.
void addRules(plan::PlanT &plan, std::span<const nn::NodeRule> rules);

} // namespace lathe
