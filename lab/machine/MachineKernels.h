// Hand-written loops that run at the machine's limits: multiply-accumulates from registers, and streams through memory.
// They are compiled for their own instruction sets and may only be called where `supported` says so.
#pragma once

#include "support/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lathe::lab {

/// One arithmetic loop. `run` does `iterations` rounds over independent accumulators held in registers, enough to cover
/// the latency of every known core.
struct ArithmeticKernel {
  ElementType type;
  const char *instruction;
  const char *feature; // LLVM's name; "" always present
  double operationsPerIteration;
  void (*run)(int64_t iterations);
};

/// All that this program knows for its architecture, for each type the best first. The last f32 kernel needs no
/// feature.
std::span<const ArithmeticKernel> arithmeticKernels();

/// Streams over `bytes` (a multiple of 2048) at 64-byte aligned addresses.
struct StreamKernels {
  const char *feature;
  void (*read)(const void *from, size_t bytes);
  void (*write)(void *to, size_t bytes);
  void (*copy)(void *to, const void *from, size_t bytes);
  /// The same past the caches; null where there is none.
  void (*writeAround)(void *to, size_t bytes);
  void (*copyAround)(void *to, const void *from, size_t bytes);
};

/// Best first; the last needs no feature.
std::span<const StreamKernels> streamKernels();

/// A chain of `operations` dependent one-cycle operations: with its time, the clock.
void clockChain(int64_t operations);

} // namespace lathe::lab
