// The loop nests of contractions as functions of their plans.
#pragma once

#include "codegen/cost/LoopNest.h"
#include "codegen/space/ContractionPlan.h"

namespace lathe {

std::vector<LoopNest> nestsOf(const DirectPlan &plan);
std::vector<LoopNest> nestsOf(const LanewisePlan &plan);
std::vector<LoopNest> nestsOf(const SeparablePlan &plan);
std::vector<LoopNest> nestsOf(const GemmPlan &plan);
std::vector<LoopNest> nestsOf(const TilePlan &plan);
std::vector<LoopNest> nestsOf(const WinogradPlan &plan);

} // namespace lathe
