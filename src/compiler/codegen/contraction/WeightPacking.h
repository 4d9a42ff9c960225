// Packing of constant weights. There is one function for each algorithm of contractions; it stores the weights in the
// order in which the algorithm's code reads them.
#pragma once

#include "codegen/Generate.h"
#include "codegen/space/DirectPlan.h"
#include "codegen/space/GemmPlan.h"
#include "codegen/space/LanewisePlan.h"
#include "codegen/space/TilePlan.h"
#include "codegen/space/WinogradPlan.h"

namespace lathe {

Packing directPacking(const DirectPlan &plan);
/// Packing of the right operand of a matrix product. The operand must be a constant.
Packing gemmPacking(const GemmPlan &plan);
Packing lanewisePacking(const LanewisePlan &plan);
Packing tilePacking(const TilePlan &plan);
Packing winogradPacking(const WinogradPlan &plan);

} // namespace lathe
