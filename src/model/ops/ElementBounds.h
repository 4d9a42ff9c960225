// Ranges of elements that operators assume: indices, lengths, coordinates.
//
// A shape function states them with its other constraints. References check them separately. Kernels report no errors,
// so the plan carries the ranges (compile/PlanRules.h) and the runtime checks them before each call.
#pragma once

#include "ops/Registry.h"

#include <vector>

namespace lathe {

/// Element i of an operand must be from least[i % n] to most[i % n], with n = least.size() = most.size().
struct ElementBound {
  size_t operand; // position of the operand in the operator's record
  Dims least, most;
};

/// For shape functions: states a bound. Ignored outside of a call of elementBounds.
void boundElements(size_t operand, Dims least, Dims most);
/// Like boundElements, for indices of which negative ones count from the end: element i belongs to an axis of extents[i
/// % n] elements.
void boundIndices(size_t operand, const Dims &extents);

/// Returns the bounds that the shape function of an operator states.
std::vector<ElementBound> elementBounds(const OpRecord &record, const Attrs &attrs, const InferInputs &in);

} // namespace lathe
