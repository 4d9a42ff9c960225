// Cold caches for `--cache cold` and `--cache cold-constants`.
#pragma once

#include "support/Error.h"

#include <span>

namespace lathe::lab {

/// Writes back and evicts every line of the resident memory of this process, code included, from
/// the caches of all processors (clflush, dc civac). Declines on processors without such an
/// instruction in user mode.
Outcome<bool> flushCaches();

/// Evicts only the cache lines of these ranges of memory; declines like the function without ranges.
Outcome<bool> flushCaches(std::span<const std::span<const char>> ranges);

} // namespace lathe::lab
