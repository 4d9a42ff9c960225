// Variants of a package: plans for fixed extents (`lathe compile --specialize`).
#pragma once

#include "runtime/plan/Program.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe::jobs {

/// The extents of a variant, by symbol: the plan fixes them, the general plan leaves them open. Empty for the general
/// plan.
std::map<std::string, int64_t> variantExtents(const runtime::Program &program, const runtime::Plan &plan);

/// The extents of a variant as text: "N=8", "H=224, W=320"; "" for the general plan.
std::string variantText(const runtime::Program &program, const runtime::Plan &plan);

/// The symbols of the general plan's inputs with their ranges, as text: "N from 1 to 64", "H".
std::vector<std::string> symbolTexts(const runtime::Program &program);

} // namespace lathe::jobs
