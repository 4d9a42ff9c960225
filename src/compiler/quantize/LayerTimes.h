// Measures the times of the layers of a compiled model, from its profile.
#pragma once

#include "runtime/Context.h"

#include <map>
#include <set>
#include <string>

namespace lathe::quantize {

inline constexpr size_t timedRuns = 15;

/// Returns the seconds of each of `nodes` in one run of the context, whose inputs must be set: the smallest time over
/// several runs. Layers in one kernel share its time equally. The time of a kernel without a layer counts for the layer
/// before it, because such a kernel converts or moves that layer's result.
std::map<std::string, double> layerTimes(runtime::Context &context, const std::set<std::string> &nodes);

} // namespace lathe::quantize
