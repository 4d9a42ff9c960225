// Places temporaries in one arena: values whose lives overlap never share bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lathe::runtime {

struct ArenaRequest {
  uint64_t bytes = 0;
  uint32_t first = 0, last = 0; // instructions during which the bytes are needed, both included; first > last: never
};

struct ArenaPlan {
  std::vector<uint64_t> offsets; // multiples of arenaAlignment, by request; 0 for those without bytes or life
  uint64_t bytes = 0;            // of the arena
  uint64_t liveBytes = 0;        // largest sum of (aligned) bytes alive at one instruction: no plan is smaller
};

inline constexpr uint64_t arenaAlignment = 64;

/// Best fit into the gaps between what is already placed and overlaps in time, in two orders (largest first, earliest
/// first); the smaller arena wins. Deterministic. Throws Error when sizes add up beyond 2^62 bytes.
ArenaPlan planArena(std::span<const ArenaRequest> requests);

/// ArenaPlan::liveBytes of these requests; their sizes must add up to less than 2^62 bytes.
uint64_t largestLiveSet(std::span<const ArenaRequest> requests);

} // namespace lathe::runtime
