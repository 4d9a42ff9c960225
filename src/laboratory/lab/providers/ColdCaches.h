// Empties caches for `--cache cold` and `--cache cold-constants`.
#pragma once

#include "support/Error.h"

#include <span>

namespace lathe::lab {

/// Writes back and evicts from the caches of all processors every line of the resident memory of this process, code
/// included (clflush, dc civac). Declines on processors that have no such instruction in user mode.
Outcome<bool> flushCaches();

/// Evicts from the caches only the lines of these ranges of memory; declines like the function without ranges.
Outcome<bool> flushCaches(std::span<const std::span<const char>> ranges);

} // namespace lathe::lab
