// Memory for operands and scratch in which every start of a process is alike.
#pragma once

namespace lathe::lab {

/// Where pages of 4 KiB lie in the machine's memory is chance: which of them share lines of a cache, and how many fit
/// the translation buffers, differs from start to start of a process by more than most kernels differ from each other
/// (docs/measuring.md). From now on malloc, and with it everything that stands on it, hands out one region in huge
/// pages, as far as the system has them; where it has none nothing but the region changes. Call it before anything
/// large is allocated.
void allocateInHugePages();

/// What a library has mapped by itself meanwhile, moved into huge pages where it is large enough for them.
void collapseMappings();

} // namespace lathe::lab
