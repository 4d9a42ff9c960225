// Register blocks of the microkernel (codegen/contraction/common/Microkernel.h): which sizes fit the
// registers of a target, and their reduction axis.
#pragma once

#include "codegen/target/Target.h"

namespace lathe {

/// Where the steps of a reduction lie in the operand that is read as scalars: in runs of `run` steps with distance
/// `stepStride`; the runs have distance `runStride`. For a blocked tensor a run is one channel block; any other tensor
/// is one long run, which is divided at the unroll factor.
struct ReductionAxis {
  int64_t extent = 0;
  int64_t run = 1, stepStride = 1, runStride = 1;
};

/// Number of weight vectors of one reduction step that fit the registers together with `rows` x `vectors` accumulators
/// and one broadcast.
int64_t heldVectors(const Target &target, int64_t rows, int64_t vectors);

/// True if `rows` x `vectors` accumulators and the operands of a reduction step fit the registers. If the block is
/// just too large, one vector is loaded twice.
bool fitsRegisters(const Target &target, int64_t rows, int64_t vectors);

/// Number of partial sums for each result of a long reduction to few results; the partial sums are added up at the
/// end. Each addition waits four cycles for the previous addition to the same sum, in which eight others could start.
/// A power of two; 1 if partial sums gain nothing.
int64_t accumulatorChains(const Target &target, int64_t rows, int64_t vectors);

} // namespace lathe
