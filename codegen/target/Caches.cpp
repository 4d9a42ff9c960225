#include "codegen/target/Caches.h"

namespace lathe {

Caches cachesOf(const Target &target) {
  constexpr double kib = 1 << 10;
  // Sapphire Rapids and later, told by its tiles: virtual machines hide its name. Measured on one of them (2 MiB, 177
  // GB/s and 16 GB/s at 3.4 GHz) but for what reading ahead costs.
  if (target.has("amx-tile"))
    return {48 * kib, 2048 * kib, 48, 5, 1};
  // Zen 5, measured in a virtual machine at 4.0 to 4.2 GHz (237 GB/s and 44 GB/s).
  if (target.has("avx512f"))
    return {48 * kib, 1024 * kib, 48, 10, 0.3};
  // Zen 3, measured in a virtual machine at 3.2 GHz (20 to 32 GB/s from memory). Its 76 GB/s from the second level are
  // 24 bytes a cycle: with those the prior chose tiles of four vectors, which its 16 registers serve worse
  // (docs/notes/avx2.md).
  return {32 * kib, 512 * kib, 48, 7, 0.125};
}

} // namespace lathe
