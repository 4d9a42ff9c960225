// Features of loop nests, for the sets `itervar` and `curve` (tune/Features.h). Amounts are
// logarithms to base 2.
#pragma once

#include "codegen/cost/LoopNest.h"

#include <string>
#include <vector>

namespace lathe::tune {

/// itervar. Of the first nest, for each of the 13 innermost loops: its extent and kind (LoopKind),
/// the iterations of the loops up to it and of the loops around it, and for each class of operands the bytes that the
/// loops up to it touch and how often each byte is touched (reuse). Of the second nest, for each of 10 loops: extent,
/// iterations, bytes of all classes. NaN beyond a nest's loops and for classes that do not occur.
void addLoopNames(std::vector<std::string> &names);
void addLoopFeatures(std::vector<float> &features, const std::vector<LoopNest> &nests);

/// curve. Relations of a nest, linear between loops. At fixed numbers of iterations: the bytes
/// touched of each class. At the capacity of the registers, and at a half and the whole of each
/// cache: how many iterations touch as many bytes as it holds, the reuse of each class within
/// them, and the bytes of all classes that pass a memory of this capacity in a whole run. Of the
/// second nest: iterations and bytes that pass.
void addCurveNames(std::vector<std::string> &names);
void addCurveFeatures(std::vector<float> &features, const std::vector<LoopNest> &nests, const Target &target);

} // namespace lathe::tune
