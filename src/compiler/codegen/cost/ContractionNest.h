// The loop nests of contractions, from their plans.
#pragma once

#include "codegen/cost/LoopNest.h"
#include "codegen/space/DirectPlan.h"
#include "codegen/space/GemmPlan.h"
#include "codegen/space/LanewisePlan.h"
#include "codegen/space/SeparablePlan.h"
#include "codegen/space/TilePlan.h"
#include "codegen/space/WinogradPlan.h"

namespace lathe {

LoopNest nestOf(const DirectPlan &plan);
LoopNest nestOf(const LanewisePlan &plan);
LoopNest nestOf(const GemmPlan &plan);
LoopNest nestOf(const TilePlan &plan);
/// The nest of the products.
LoopNest nestOf(const WinogradPlan &plan);
/// The nest of the transform of the input.
LoopNest transformNestOf(const WinogradPlan &plan);

} // namespace lathe
