// Times of the layers of a compiled model, from its profile.
#pragma once

#include "runtime/Context.h"

#include <map>
#include <set>
#include <string>

namespace lathe::quantize {

inline constexpr size_t timedRuns = 15;

/// Seconds of each of `nodes` in one run whose inputs are set: the smallest of several runs of its kernel. Layers of one
/// kernel share its time in equal parts. A kernel of no layer counts for the layer before it, since it converts or moves
/// what that layer wrote.
std::map<std::string, double> layerTimes(runtime::Context &context, const std::set<std::string> &nodes);

} // namespace lathe::quantize
