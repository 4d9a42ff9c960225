// The cost of contractions as functions of their plans.
#pragma once

#include "codegen/cost/Cost.h"
#include "codegen/space/DirectPlan.h"
#include "codegen/space/GemmPlan.h"
#include "codegen/space/LanewisePlan.h"
#include "codegen/space/SeparablePlan.h"
#include "codegen/space/TilePlan.h"
#include "codegen/space/WinogradPlan.h"

namespace lathe {

/// The share of the wait for operands that multiplications do not hide.
inline constexpr double exposedOfProducts = 0.3;

/// Adds computing, repeated reads, and the weights; leaves out operands that are read once. Returns the axes of the
/// work items.
std::array<WorkAxis, 4> addDirect(Cost &cost, const DirectPlan &plan, double operators);
/// Cycles of all results of one image.
double lanewiseCycles(const Target &target, const LanewisePlan &plan, double operators);
/// Cycles that `vectors` vectors of results take in addition to their stores if the result is row-major.
double storeCycles(const ConvGeometry &conv, int64_t lanes, double vectors);
/// Number of pairs of an output row and a row of taps that lies inside the input.
double rowsOfTaps(const ConvGeometry &conv);

Prediction predictDirect(const ContractionFacts &facts, const DirectPlan &plan);
Prediction predictWinograd(const ContractionFacts &facts, const WinogradPlan &plan);
Prediction predictLanewise(const ContractionFacts &facts, const LanewisePlan &plan);
Prediction predictSeparable(const ContractionFacts &facts, const SeparablePlan &plan);
Prediction predictGemm(const ContractionFacts &facts, const GemmPlan &plan);
Prediction predictTiles(const ContractionFacts &facts, const TilePlan &plan);

} // namespace lathe
