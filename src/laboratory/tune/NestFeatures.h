// Features of loop nests, for the feature sets `itervar` and `curve` (tune/Features.h). Amounts are logarithms to
// base 2.
#pragma once

#include "codegen/cost/LoopNest.h"

#include <string>
#include <vector>

namespace lathe::tune {

/// Names and values of the features of the set itervar. For each of the 13 innermost loops of the first nest: its
/// extent and kind (LoopKind), the iterations of the loops up to it and of the loops around it, and for each class of
/// operands the bytes that the loops up to it touch and how often each byte is touched (reuse). For each of 10 loops
/// of the second nest: extent, iterations, bytes of all classes. NaN beyond a nest's loops and for classes that do not
/// occur.
void addLoopNames(std::vector<std::string> &names);
void addLoopFeatures(std::vector<float> &features, const std::vector<LoopNest> &nests);

/// Names and values of the features of the set curve: relations of a nest, interpolated linearly between loops. At
/// fixed numbers of iterations: the bytes touched of each class. At the capacity of the registers, and at half and
/// full capacity of each cache: how many iterations touch this many bytes, the reuse of each class within them, and
/// the bytes of all classes that pass a memory of this capacity in a whole run. For the second nest: iterations and
/// passing bytes.
void addCurveNames(std::vector<std::string> &names);
void addCurveFeatures(std::vector<float> &features, const std::vector<LoopNest> &nests, const Target &target);

} // namespace lathe::tune
