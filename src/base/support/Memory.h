// The memory limit of this process, to reject work that cannot fit before it begins.
#pragma once

#include <cstdint>
#include <string>

namespace lathe {

/// Largest memory that this process may use, in bytes: memory and swap space of the machine, or the limit of its
/// control group if that is less. Read once.
uint64_t memoryLimit();

/// A number of bytes as text: "40.0 GiB", "3.5 MiB", "512 bytes".
std::string sizeText(uint64_t bytes);

/// Throws Error "WHAT needs 40.0 GiB, this machine has 31.2 GiB of memory" if `bytes` exceeds memoryLimit(). `what` is
/// WHAT in the message.
void requireMemory(uint64_t bytes, const std::string &what);

} // namespace lathe
