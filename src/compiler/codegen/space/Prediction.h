// The predicted cost of one run of a kernel with a schedule, from the facts of the kernel and of the machine. All parts
// are in core cycles.
#pragma once

#include "machine/MachineFacts.h"

#include <string>
#include <vector>

namespace lathe {

/// Core cycles of the busiest thread, if the kernel runs on the threads for which it is planned. Extents that are open
/// when the kernel is compiled count as 1.
struct Prediction {
  /// Cycles to compute the kernel with all operands in the innermost cache: ports, latency, uneven shares of threads.
  double compute = 0;
  /// Cycles of waiting for bytes beyond the innermost cache, one number for each level that delivers them: the second
  /// cache, ..., memory last.
  std::vector<double> levels;
  /// Cycles to transfer the bytes that come from memory, whether the computation hides them or not; not part of the
  /// total.
  double memory = 0;
  double start = 0;    // cycles spent once per run: for calls, packing of operands, loading of states
  double forkJoin = 0; // cycles to start the threads and wait for the last one; 0 with one thread

  double total() const;
  /// Name of the level that delivers `levels[index]`: "L2", "L3", ..., "memory".
  std::string levelName(size_t index) const;
  /// Name of the largest part of the prediction: "compute", "L2", "L3", "memory", "start" or "fork and join".
  std::string bound() const;
};

/// What the choice of streams needs of a prediction, in core cycles; zeros: there is no prediction.
struct KernelCycles {
  double total = 0;
  double memory = 0; // Prediction::memory
};

/// Cycles to start a kernel on one thread: to call it and to load the addresses of its operands.
inline constexpr double startCycles = 100;

/// Cycles to start `threads` threads and to wait for the last one; 0 for one thread.
double forkJoinCycles(int threads);

/// Rate at which a core reads what another core has written (docs/machine.md).
inline constexpr double otherCoreBytesPerCycle = 3;

} // namespace lathe
