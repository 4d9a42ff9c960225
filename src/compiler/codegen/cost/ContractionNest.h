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
/// The loop nest of the products of a plan of `winograd`.
LoopNest nestOf(const WinogradPlan &plan);
/// The loop nest of the transform of the input of a plan of `winograd`.
LoopNest transformNestOf(const WinogradPlan &plan);

} // namespace lathe
