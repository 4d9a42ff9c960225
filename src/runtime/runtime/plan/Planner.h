// Places temporary values in one arena of memory. Two values may share bytes if and only if the plan guarantees that
// all uses of one are over before the first use of the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lathe::runtime {

/// The lifetime of bytes in a plan whose instructions run in several streams at the same time (Plan::phases).
/// Instructions have ids that rise along each stream.
struct StreamLife {
  uint32_t firstPhase = 0, lastPhase = 0;
  std::vector<uint32_t> begins; // by stream of the first phase: instructions of smaller id are done before any use
  std::vector<uint32_t> ends;   // by stream of the last phase: no use there has this id or a larger one

  /// True if the plan guarantees that all uses of these bytes are over before any use of `other` begins.
  bool isBefore(const StreamLife &other) const;
};

struct ArenaRequest {
  uint64_t bytes = 0;
  uint32_t first = 0, last = 0; // first and last instruction of the lifetime, both included; first > last: never alive
  /// For instructions that run in several streams; null: they run in the order of their ids. All requests of an arena
  /// have one, or none has.
  const StreamLife *streams = nullptr;
};

struct ArenaPlan {
  std::vector<uint64_t> offsets; // by request: its offset, a multiple of arenaAlignment; 0 for empty requests
  uint64_t bytes = 0;            // size of the arena
  // largest sum of aligned bytes that are alive at one instruction when they run one after the other; no arena can be
  // smaller
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
