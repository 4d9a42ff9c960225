// The plan of a schedule of `singlelane`: `lanewise` with one work item for each block of channels.
#pragma once

#include "codegen/contraction/lanewise/LanewisePlan.h"

namespace lathe {

struct SinglelanePlan : LanewisePlan {};

/// Makes the plan. Throws Illegal for an illegal schedule.
SinglelanePlan makeSinglelanePlan(const Target &target, const ConvGeometry &conv, Schedule schedule);

} // namespace lathe
