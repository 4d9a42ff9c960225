// Storage of constant weights for each algorithm: the order in which its code reads them.
#pragma once

#include "codegen/Generate.h"
#include "codegen/space/DirectPlan.h"
#include "codegen/space/GemmPlan.h"
#include "codegen/space/LanewisePlan.h"
#include "codegen/space/TilePlan.h"
#include "codegen/space/WinogradPlan.h"

namespace lathe {

Packing directPacking(const DirectPlan &plan);
/// Packing of a constant right operand.
Packing gemmPacking(const GemmPlan &plan);
Packing lanewisePacking(const LanewisePlan &plan);
Packing tilePacking(const TilePlan &plan);
Packing winogradPacking(const WinogradPlan &plan);

} // namespace lathe
