// Hand-written loops that run at the limits of the machine: multiply-accumulates in registers, and memory streams.
// They are compiled for their own instruction sets and may only be called if the CPU has the feature.
#pragma once

#include "support/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lathe::lab {

/// A loop of multiply-accumulates. `run` executes `iterations` rounds over independent accumulators in registers,
/// enough to hide the latency on every known core.
struct ArithmeticKernel {
  ElementType type;
  const char *instruction;
  const char *feature; // CPU feature that the loop needs, by LLVM's name; "": none
  double operationsPerIteration;
  void (*run)(int64_t iterations);

  int vectorBits() const; // width of the registers in bits
};

/// All arithmetic loops for this architecture, for each type the fastest first. The last f32 loop needs no CPU
/// feature. The loops of type i8 multiply bytes exactly, with sums of 32 bits.
std::span<const ArithmeticKernel> arithmeticKernels();

/// Loops that read, write or copy `bytes`, a multiple of 2048, at addresses that are multiples of 64.
struct StreamKernels {
  const char *feature;
  void (*read)(const void *from, size_t bytes);
  void (*write)(void *to, size_t bytes);
  void (*copy)(void *to, const void *from, size_t bytes);
  /// Writes past the caches, with non-temporal stores; null if the architecture has no such stores.
  void (*writeAround)(void *to, size_t bytes);
  void (*copyAround)(void *to, const void *from, size_t bytes);
};

/// All loops of memory streams for this architecture, the fastest first. The last one needs no CPU feature.
std::span<const StreamKernels> streamKernels();

/// Runs a chain of `operations` dependent one-cycle operations, from whose time the clock follows.
void clockChain(int64_t operations);

} // namespace lathe::lab
