// Ranges of elements that operators assume of their operands: of indices, lengths, coordinates.
//
// A shape function states them with its other constraints. References check them separately. Kernels report no errors,
// so the plan carries the ranges (compile/PlanRules.h) and the runtime checks them before each call.
#pragma once

#include "ops/Registry.h"

#include <vector>

namespace lathe {

/// The range of the elements of an operand: element i must be from least[i % n] to most[i % n], with n = least.size()
/// = most.size().
struct ElementBound {
  size_t operand; // position of the operand in the operator's record
  Dims least, most;
};

/// States a range of elements of an operand, inside of a shape function. Ignored outside of a call of elementBounds.
void boundElements(size_t operand, Dims least, Dims most);
/// States a range like boundElements, for an operand of indices of which negative ones count from the end: element i
/// is an index into an axis of extents[i % n] elements.
void boundIndices(size_t operand, const Dims &extents);

/// Returns the ranges of elements that the shape function of an operator states.
std::vector<ElementBound> elementBounds(const OpRecord &record, const Attrs &attrs, const InferInputs &in);

} // namespace lathe
