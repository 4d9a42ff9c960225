// Gives the operands and scratch memory of a provider the same physical placement in every start of its process.
#pragma once

namespace lathe::lab {

/// Makes malloc allocate from one region of huge pages, if the system has them. The physical placement of 4 KiB pages
/// is random, so cache conflicts and TLB misses differ between process starts by more than most kernels differ from
/// each other (docs/measuring.md). Call it before large allocations.
void allocateInHugePages();

/// Moves large memory mappings that a library has created into huge pages.
void collapseMappings();

} // namespace lathe::lab
