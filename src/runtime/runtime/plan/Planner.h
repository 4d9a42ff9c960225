// Places temporaries in one arena. Values with overlapping lifetimes never share bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lathe::runtime {

struct ArenaRequest {
  uint64_t bytes = 0;
  uint32_t first = 0, last = 0; // lifetime in instructions, inclusive; first > last: never alive
};

struct ArenaPlan {
  std::vector<uint64_t> offsets; // by request, multiples of arenaAlignment; 0 for empty requests
  uint64_t bytes = 0;            // size of the arena
  uint64_t liveBytes = 0;        // largest sum of aligned bytes alive at one instruction: lower bound
};

inline constexpr uint64_t arenaAlignment = 64;

/// Best fit into the gaps between placed requests that overlap in time, in two orders (largest
/// first, earliest first); the smaller arena wins. Deterministic. Throws Error if the sizes add up
/// to more than 2^62 bytes.
ArenaPlan planArena(std::span<const ArenaRequest> requests);

/// Returns ArenaPlan::liveBytes. The sizes must add up to less than 2^62 bytes.
uint64_t largestLiveSet(std::span<const ArenaRequest> requests);

} // namespace lathe::runtime
