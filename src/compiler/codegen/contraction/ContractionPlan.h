// The table of the algorithms for contractions (convolutions and matrix products), and the plan for a schedule of any
// of them.
//
// A new algorithm needs a folder beside the others, a type in ContractionPlan, a row of the table in
// ContractionPlan.cpp, and a declaration in schedule/Algorithms.cpp. The other columns of the row are overloads on
// the type of the plan. If one is missing, the C++ compiler reports it: predict (the cost), nestsOf (the loops),
// packingOf (the constant operand) and generateFrom (the code).
#pragma once

#include "codegen/contraction/amx/AmxPlan.h"
#include "codegen/contraction/direct/DirectPlan.h"
#include "codegen/contraction/gemm/GemmPlan.h"
#include "codegen/contraction/lanewise/LanewisePlan.h"
#include "codegen/contraction/separable/SeparablePlan.h"
#include "codegen/contraction/winograd/WinogradPlan.h"

#include <variant>

namespace lathe {

using ContractionPlan = std::variant<DirectPlan, WinogradPlan, LanewisePlan, SeparablePlan, GemmPlan, TilePlan>;

struct ContractionAlgorithm {
  const char *name;
  /// What the algorithm can compute: bits of Computes.
  unsigned computes;
  /// Makes the plan for a schedule. Throws Illegal for an illegal schedule.
  ContractionPlan (*plan)(const ContractionFacts &facts, const Schedule &schedule);
  /// Returns the schedule that the hand-written rules choose. With `only`, the algorithm is given: throws Illegal if
  /// no schedule of it is legal. Without `only`, returns nothing if an algorithm in a later row of the table is
  /// better, or if this algorithm does not apply.
  std::optional<Schedule> (*prior)(const ContractionFacts &facts, const AlgorithmChoice *only);

  enum Computes : unsigned { convolution = 1, product = 2, pair = 4 };
};

/// Returns the row of the algorithm `name`; null if it is not an algorithm for contractions.
const ContractionAlgorithm *findContractionAlgorithm(std::string_view name);

/// Makes the plan for a schedule of any algorithm. Throws Illegal for an illegal schedule.
ContractionPlan planOf(const ContractionFacts &facts, const Schedule &schedule);

/// True if the schedule is for kernels of two convolutions: a depthwise convolution and a pointwise one that reads its
/// result.
bool isForPairs(const Schedule &schedule);

} // namespace lathe
