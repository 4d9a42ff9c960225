// Cold caches: what "--cache cold" does before every timed run.
#pragma once

#include "support/Error.h"

namespace lathe::lab {

/// Writes back and evicts every line of this process's resident memory, code included, from the caches of all
/// processors, line by line (clflush, dc civac). Declines on processors without such an instruction for programs.
Outcome<bool> flushCaches();

} // namespace lathe::lab
