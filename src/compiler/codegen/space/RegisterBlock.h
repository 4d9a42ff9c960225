// Register blocks of the microkernel (codegen/contraction/common/Microkernel.h): which sizes fit the
// registers of a target, and their reduction axis.
#pragma once

#include "codegen/target/Target.h"

namespace lathe {

/// Layout of the reduction axis of the scalar operand: runs of `run` steps with distance
/// `stepStride`, and runs with distance `runStride`. A run of a blocked tensor is one channel
/// block; any other tensor is one long run, divided at the unroll factor.
struct ReductionAxis {
  int64_t extent = 0;
  int64_t run = 1, stepStride = 1, runStride = 1;
};

/// Number of vectors of one step that fit the registers beside `rows` x `vectors` accumulators and
/// one broadcast.
int64_t heldVectors(const Target &target, int64_t rows, int64_t vectors);

/// True if `rows` x `vectors` accumulators and the operands fit the registers (one vector is loaded
/// twice if the block is just too large).
bool fitsRegisters(const Target &target, int64_t rows, int64_t vectors);

/// Number of partial sums per result for a long reduction of few results, added at the end. Each
/// addition waits four cycles for the previous one to the same sum, in which eight others could
/// start. A power of two; 1 if there is no gain.
int64_t accumulatorChains(const Target &target, int64_t rows, int64_t vectors);

} // namespace lathe
