// What the predictions of all algorithms have in common: operands and where they are read from, the microkernel, and
// loops over vectors.
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

/// `extent` with open extents as 1. An extent that would have no meaning then, such as H - 4, is 1, too: predictions are
/// never negative.
double valueOf(const Dim &extent);
inline double atLeastOne(const Dim &extent) { return std::max(1.0, valueOf(extent)); }
double bytesOf(const TensorFacts &tensor);

/// Collects the parts of a prediction. Numbers are those of the whole kernel; `finish` divides them over the threads.
class Cost {
public:
  explicit Cost(const KernelFacts &facts) : facts(facts), machine(facts.target.machine) {}

  const KernelFacts &facts;
  const MachineFacts &machine;
  double compute = 0; // cycles
  double once = 0;    // cycles that every thread spends

  /// Operands and results pass by once: constants from memory, the others from the levels that hold a thread's share of
  /// them all. What other threads may have written of the operands comes from a level that cores share. Without tensor
  /// `except`, an index of the inputs. At most `most` bytes of each operand.
  void passOperands(int except = -1, double most = std::numeric_limits<double>::infinity());
  /// `bytes` are read, of a set of `held` bytes that was read before: they come from the innermost level that holds it.
  /// `hidden`: the share of the wait that prefetching takes away.
  void readAgain(double bytes, double held, double hidden = 0);
  /// `bytes` are read for the first time since the network ran last.
  void readFirst(double bytes, double hidden = 0);

  /// `units` equal work items over the threads. `exposed`: the share of the wait for bytes that computing does not hide
  /// while there is enough to compute.
  Prediction finish(double units, double exposed) const;
  /// Work items of which the last ones along an axis may be smaller.
  Prediction finish(std::span<const WorkAxis> items, double exposed) const;

private:
  /// `share`: of the whole work, what the busiest thread does of it.
  Prediction finish(double units, double share, double exposed) const;

  MemoryLevels levels = machine.memoryLevels();
  std::vector<double> waits = std::vector<double>(levels.size() - 1); // by level, without the innermost one
  double memory = 0;                                                  // Prediction::memory, all threads together

  void readFrom(size_t level, double bytes, double hidden);
  /// `bytes` of a set of `held` bytes pass by, of which every level keeps as much as it holds.
  void pass(double bytes, double held, double hidden);
};

/// Work of the busiest of `threads` threads over an equal share, where `units` work items are equal.
double busiestShare(double units, int threads);

/// One call of Microkernel::reduce: `rows` broadcast scalars times `vectors` vectors for `steps` steps.
struct Reduction {
  int64_t rows, vectors, steps;
  int64_t run;    // ReductionAxis::run
  int64_t unroll; // steps per iteration
  ContractionFormat format = plainFormat(ElementType::f32);
  double calls = 1;   // that follow one another on the same sums
  double lines = 0;   // prefetched per iteration
  int64_t widest = 0; // Microkernel::widest
};
/// Cycles of one call with operands in the innermost cache.
double reductionCycles(const Target &target, const Reduction &reduction);
/// Bytes of the machine code of the call.
double reductionCode(const Reduction &reduction);

/// Cycles that the results of a register block take: starting values, epilogue, stores.
double resultCycles(double vectors, double operators);

/// Cycles per vector of a loop body of `instructions` vector instructions, the longest chain of which takes `latency`
/// cycles, `together` of them side by side.
double bodyCycles(const Target &target, double instructions, double latency, double together);

// Cycles of what surrounds computing, for a core with 512-bit vectors of today.
inline constexpr double callCycles = 60;  // a work item: division of its number, addresses
inline constexpr double loopCycles = 1.5; // an iteration of a short loop
inline constexpr double turnCycles = 12; // a loop that is entered and left, with a branch that is mispredicted at times

} // namespace lathe
