// What the cost predictions of all algorithms share: operands and the memory levels from which they are read, the
// microkernel, and loops over vectors.
//
// Cycles are estimates for a core that starts several instructions a cycle out of order. docs/notes/predicting.md says
// how well they order schedules.
#pragma once

#include "codegen/space/ContractionFormat.h"
#include "codegen/space/KernelFacts.h"
#include "codegen/space/RegisterBlock.h"
#include "codegen/space/WorkItems.h"

#include <algorithm>
#include <limits>

namespace lathe {

/// Value of an extent for predictions: with all symbols at 1, or 1 if that is not positive, as for H - 4. So
/// predictions are never negative.
double valueOf(const Dim &extent);
inline double atLeastOne(const Dim &extent) { return std::max(1.0, valueOf(extent)); }
double bytesOf(const TensorFacts &tensor);

/// Adds up the parts of the predicted cost of a kernel. Numbers are for the whole kernel; `finish` divides them over
/// the threads.
class Cost {
public:
  explicit Cost(const KernelFacts &facts) : facts(facts), machine(facts.target.machine) {}

  const KernelFacts &facts;
  const MachineFacts &machine;
  double compute = 0; // cycles to compute, for all threads together
  double once = 0;    // cycles that every thread spends in addition

  /// Adds the cost to read the operands and write the results once. Constants come from memory, other tensors from the
  /// levels that hold one thread's share of all tensors. Data that other threads may have written comes from a level
  /// that cores share. `except`: index of an input to leave out. `most`: maximum bytes counted for each operand.
  void passOperands(int except = -1, double most = std::numeric_limits<double>::infinity());
  /// Adds the cost to read `bytes` out of a set of `held` bytes that was read before. The bytes come from the
  /// innermost level that can hold the set. `hidden`: the share of the wait that prefetching removes.
  void readAgain(double bytes, double held, double hidden = 0);
  /// Adds the cost to read `bytes` from memory for the first time in this run of the network. `hidden`: the share of
  /// the wait that prefetching removes.
  void readFirst(double bytes, double hidden = 0);

  /// Divides `units` equal work items over the threads and returns the prediction. `exposed`: the share of the wait for
  /// data that computing does not hide, if there is enough to compute.
  Prediction finish(double units, double exposed) const;
  /// Divides work items over the threads and returns the prediction; the last work item along an axis may be smaller.
  Prediction finish(std::span<const WorkAxis> items, double exposed) const;

private:
  /// Returns the prediction like the functions above; `share` is the part of the whole work that the busiest thread
  /// does.
  Prediction finish(double units, double share, double exposed) const;

  MemoryLevels levels = machine.memoryLevels(facts.threads);
  /// Cycles of waiting for each memory level except the innermost one.
  std::vector<double> waits = std::vector<double>(levels.size() - 1);
  double memory = 0; // Prediction::memory, for all threads together

  void readFrom(size_t level, double bytes, double hidden);
  /// Adds the cost to read `bytes` out of a set of `held` bytes. Every memory level delivers the part of the set that
  /// it holds.
  void pass(double bytes, double held, double hidden);
};

/// Work of the busiest of `threads` threads that share `units` equal work items; 1 is an equal share.
double busiestShare(double units, int threads);

/// A call of Microkernel::reduce: `rows` broadcast scalars times `vectors` vectors for `steps` steps.
struct Reduction {
  int64_t rows, vectors, steps;
  int64_t run;    // number of steps in a run, ReductionAxis::run
  int64_t unroll; // number of reduction steps in a loop iteration
  ContractionFormat format = plainFormat(ElementType::f32);
  double calls = 1;   // number of calls in a row that add to the same sums
  double lines = 0;   // number of cache lines prefetched in a loop iteration
  int64_t widest = 0; // number of vectors in a whole tile, as in Microkernel::widest
};
/// Predicted cycles of one call of Microkernel::reduce whose operands are in the innermost cache.
double reductionCycles(const Target &target, const Reduction &reduction);
/// Predicted bytes of machine code for a call of Microkernel::reduce.
double reductionCode(const Reduction &reduction);

/// Predicted cycles to start, post-process (epilogue) and store the results of a register block.
double resultCycles(double vectors, double operators);

/// Predicted cycles per vector of a loop body with `instructions` vector instructions and a longest dependency chain
/// of `latency` cycles, if `together` vectors are computed side by side.
double bodyCycles(const Target &target, double instructions, double latency, double together);

// Cycles that predictions add outside the computation, for a current core with 512-bit vectors.
inline constexpr double callCycles = 60;  // start of a work item: division of its number, addresses
inline constexpr double loopCycles = 1.5; // one iteration of a short loop, without its body
inline constexpr double turnCycles = 12;  // start and end of a loop, whose branch is mispredicted at times

} // namespace lathe
