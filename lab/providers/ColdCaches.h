// Cold caches: what "--cache cold" and "--cache cold-constants" do before every timed run.
#pragma once

#include "support/Error.h"

#include <span>

namespace lathe::lab {

/// Writes back and evicts every line of this process's resident memory, code included, from the caches of all
/// processors, line by line (clflush, dc civac). Declines on processors without such an instruction for programs.
Outcome<bool> flushCaches();

/// The same for every line of these ranges and nothing else.
Outcome<bool> flushCaches(std::span<const std::span<const char>> ranges);

} // namespace lathe::lab
