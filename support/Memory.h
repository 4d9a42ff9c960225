// How much memory there is, so that work that cannot fit is refused before it begins.
#pragma once

#include <cstdint>
#include <string>

namespace lathe {

/// Bytes of memory that this process can hold at most: memory and swap space of the machine, or the
/// limit of its control group where that is less. Read once.
uint64_t memoryLimit();

/// "40.0 GiB", "3.5 MiB", "512 bytes".
std::string sizeText(uint64_t bytes);

/// Throws Error "WHAT needs 40.0 GiB, this machine has 31.2 GiB of memory" where `bytes` are more
/// than memoryLimit().
void requireMemory(uint64_t bytes, const std::string &what);

} // namespace lathe
