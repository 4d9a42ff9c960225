// The cost of contractions as functions of their plans.
#pragma once

#include "codegen/cost/Cost.h"
#include "codegen/space/ContractionPlan.h"

namespace lathe {

/// Of the wait for operands, what multiplications do not hide.
inline constexpr double exposedOfProducts = 0.3;

/// Adds what computes and what is read again, without operands that pass by once but with the weights; returns the
/// axes of the work items.
std::array<WorkAxis, 4> addDirect(Cost &cost, const DirectPlan &plan, double operators);
/// Cycles of all results of one image.
double lanewiseCycles(const Target &target, const LanewisePlan &plan, double operators);
/// Cycles that `vectors` vectors of results take beyond their stores where the result is row-major.
double storeCycles(const ConvGeometry &conv, int64_t lanes, double vectors);
/// Pairs of an output row and a row of taps that meet inside the input.
double rowsOfTaps(const ConvGeometry &conv);

Prediction predict(const ContractionFacts &facts, const DirectPlan &plan);
Prediction predict(const ContractionFacts &facts, const WinogradPlan &plan);
Prediction predict(const ContractionFacts &facts, const LanewisePlan &plan);
Prediction predict(const ContractionFacts &facts, const SeparablePlan &plan);
Prediction predict(const ContractionFacts &facts, const GemmPlan &plan);
Prediction predict(const ContractionFacts &facts, const TilePlan &plan);

} // namespace lathe
