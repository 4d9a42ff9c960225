// Predicted cost of one run of a kernel with a schedule, from the facts of the kernel and of the machine. One unit
// everywhere: core cycles.
#pragma once

#include "machine/MachineFacts.h"

#include <string>
#include <vector>

namespace lathe {

/// Core cycles of the busiest of the threads that the kernel is planned for. Extents that are open when the kernel is
/// compiled count as 1.
struct Prediction {
  double compute = 0; // instructions with all operands in the innermost cache: ports, latency, uneven shares of threads
  /// Waiting for bytes beyond the innermost cache, by the level that delivers them: the second cache, ..., memory last.
  std::vector<double> levels;
  double memory = 0;   // to transfer what comes from memory, hidden or not: no part of the total
  double start = 0;    // once per run: calls, packing of operands, loading of states
  double forkJoin = 0; // starting the threads and waiting for the last one; 0 with one thread

  double total() const;
  /// Name of the level that delivers `levels[index]`: "L2", "L3", ..., "memory".
  std::string levelName(size_t index) const;
  /// The largest part: "compute", "L2", "L3", "memory", "start" or "fork and join".
  std::string bound() const;
};

/// Cycles to start a kernel: the call and its operands' addresses.
inline constexpr double startCycles = 100;

/// Cycles to start `threads` threads and to wait for the last; 0 for one.
double forkJoinCycles(int threads);

} // namespace lathe
