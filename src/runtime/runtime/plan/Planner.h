// Places temporary values in one arena of memory. Values with overlapping lifetimes never share bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lathe::runtime {

struct ArenaRequest {
  uint64_t bytes = 0;
  uint32_t first = 0, last = 0; // first and last instruction of the lifetime, both included; first > last: never alive
};

struct ArenaPlan {
  std::vector<uint64_t> offsets; // by request: its offset, a multiple of arenaAlignment; 0 for empty requests
  uint64_t bytes = 0;            // size of the arena
  // largest sum of aligned bytes that are alive at one instruction; no arena can be smaller
  uint64_t liveBytes = 0;
};

inline constexpr uint64_t arenaAlignment = 64;

/// Places each request for arena memory in the smallest gap that fits between placed requests whose lifetimes overlap.
/// Tries two orders (largest first, earliest first) and keeps the smaller arena. Deterministic. Throws Error if the
/// sizes add up to more than 2^62 bytes.
ArenaPlan planArena(std::span<const ArenaRequest> requests);

/// Returns only ArenaPlan::liveBytes of the requests. The sizes must add up to less than 2^62 bytes.
uint64_t largestLiveSet(std::span<const ArenaRequest> requests);

} // namespace lathe::runtime
