// The inputs and outputs of two graphs beside each other.
#pragma once

#include "stage/diff/GraphDiff.h"
#include "stage/diff/GraphMatch.h"

namespace lathe::stage {

/// Everything in which partners among the inputs and outputs differ, and those without a partner. Symbolic extents may have
/// other names in B: a renaming that makes the extents equal is no difference. The order of axes counts, also where extents
/// are equal: it follows from the transposes next to the ports.
std::vector<GraphDiff::Port> comparePorts(const GraphNodes &a, const GraphNodes &b, const GraphMatch &match);

} // namespace lathe::stage
