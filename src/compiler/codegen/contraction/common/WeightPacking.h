// Packing of constant weights, one function for each plan of contractions: it stores the weights
// in the order in which the algorithm's code reads them.
#pragma once

#include "codegen/Generate.h"
#include "codegen/space/ContractionPlan.h"

namespace lathe {

Packing packingOf(const DirectPlan &plan);
/// For the right operand of the matrix product, where it is constant.
Packing packingOf(const GemmPlan &plan);
Packing packingOf(const LanewisePlan &plan);
Packing packingOf(const TilePlan &plan);
Packing packingOf(const WinogradPlan &plan);

} // namespace lathe
