// Times of the layers of a compiled model, from its profile.
#pragma once

#include "runtime/Context.h"

#include <map>
#include <set>
#include <string>

namespace lathe::quantize {

inline constexpr size_t timedRuns = 15;

/// Seconds of each of `nodes` in one run whose inputs are set: the smallest over several runs of its kernel. Layers in
/// one kernel share its time equally. A kernel without a layer counts for the layer before it, because it converts or
/// moves that layer's result.
std::map<std::string, double> layerTimes(runtime::Context &context, const std::set<std::string> &nodes);

} // namespace lathe::quantize
