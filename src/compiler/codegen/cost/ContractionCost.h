// Predicted costs of contractions, from their plans.
#pragma once

#include "codegen/cost/Cost.h"
#include "codegen/space/DirectPlan.h"
#include "codegen/space/GemmPlan.h"
#include "codegen/space/LanewisePlan.h"
#include "codegen/space/SeparablePlan.h"
#include "codegen/space/TilePlan.h"
#include "codegen/space/WinogradPlan.h"

namespace lathe {

/// Share of the wait for operands that multiplications do not hide.
inline constexpr double exposedOfProducts = 0.3;

/// Adds the costs of computing, of repeated reads and of the weights. Leaves out operands that are read once. Returns
/// the axes of the work items.
std::array<WorkAxis, 4> addDirect(Cost &cost, const DirectPlan &plan, double operators);
/// Cycles to compute all results of one image.
double lanewiseCycles(const Target &target, const LanewisePlan &plan, double operators);
/// Cycles by which `vectors` vectors of results take longer if the result is row-major. The stores themselves are not
/// counted.
double storeCycles(const ConvGeometry &conv, int64_t lanes, double vectors);
/// Number of pairs of an output row and a row of taps for which the row that they read is inside the input.
double rowsOfTaps(const ConvGeometry &conv);

Prediction predictDirect(const ContractionFacts &facts, const DirectPlan &plan);
Prediction predictWinograd(const ContractionFacts &facts, const WinogradPlan &plan);
Prediction predictLanewise(const ContractionFacts &facts, const LanewisePlan &plan);
Prediction predictSeparable(const ContractionFacts &facts, const SeparablePlan &plan);
Prediction predictGemm(const ContractionFacts &facts, const GemmPlan &plan);
Prediction predictTiles(const ContractionFacts &facts, const TilePlan &plan);

} // namespace lathe
