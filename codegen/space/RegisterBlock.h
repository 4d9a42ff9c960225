// Register blocks of the microkernel (codegen/contraction/Microkernel.h): which ones fit a target's registers, and what
// they reduce over.
#pragma once

#include "codegen/target/Target.h"

namespace lathe {

/// How the scalar operand's reduction axis lies in memory: runs of `run` steps `stepStride` apart, the runs `runStride`
/// apart. A blocked tensor has runs of one channel block; anything else is one long run cut where unrolling ends.
struct ReductionAxis {
  int64_t extent = 0;
  int64_t run = 1, stepStride = 1, runStride = 1;
};

/// Vectors of one step that can be held in registers beside `rows` x `vectors` accumulators and one broadcast.
int64_t heldVectors(const Target &target, int64_t rows, int64_t vectors);

/// Accumulators and operands of `rows` x `vectors` fit the registers (one vector is read again from memory when the
/// block is just too large).
bool fitsRegisters(const Target &target, int64_t rows, int64_t vectors);

/// Into how many sums, taken in turn and added up at the end, a long reduction of so few results is split: an
/// addition to the same sum has to wait four cycles, in which eight others could be made. A power of two, 1 where
/// nothing is to be gained.
int64_t accumulatorChains(const Target &target, int64_t rows, int64_t vectors);

} // namespace lathe
