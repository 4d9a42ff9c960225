// The algorithms of contractions as rows, and the plan of a schedule of any of them.
//
// A new algorithm is a folder beside the others, a type of ContractionPlan, a row of the table in ContractionPlan.cpp, and
// its declaration in schedule/Algorithms.cpp. The other columns of the row are overloads on the type of the plan, and the
// compiler names the ones that are missing: predict (the cost), nestsOf (the loops), packingOf (the constant operand) and
// generateFrom (the code).
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
  /// What the algorithm computes: bits of Computes.
  unsigned computes;
  /// Makes the plan of a schedule. Throws Illegal for an illegal one.
  ContractionPlan (*plan)(const ContractionFacts &facts, const Schedule &schedule);
  /// The schedule of the hand rules. With `only` the algorithm is given: throws Illegal if no schedule of it is legal.
  /// Without, returns nothing where algorithms in rows below are better, or where the algorithm does not apply.
  std::optional<Schedule> (*prior)(const ContractionFacts &facts, const AlgorithmChoice *only);

  enum Computes : unsigned { convolution = 1, product = 2, pair = 4 };
};

/// The row of an algorithm; null if it is not one of contractions.
const ContractionAlgorithm *findContractionAlgorithm(std::string_view name);

/// The plan of a schedule. Throws Illegal for an illegal one.
ContractionPlan planOf(const ContractionFacts &facts, const Schedule &schedule);

/// True if the schedule is for kernels of two convolutions, a depthwise and a pointwise one behind it.
bool isForPairs(const Schedule &schedule);

} // namespace lathe
