// Rules over extents in the plan: what the runtime checks when inputs are bound.
#pragma once

#include "ir/ExtentRules.h"
#include "package/plan_generated.h"

#include <span>

namespace lathe {

/// Adds `rules` to a plan whose inputs are there; those it has are not repeated. A rule with a
/// symbol that no input binds is left out: it is over extents that depend on data, which only
/// references take, and these check them.
void addRules(plan::PlanT &plan, std::span<const nn::NodeRule> rules);

} // namespace lathe
