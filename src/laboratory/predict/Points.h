// Measured runs of networks, from which the residual of the cost model is learned, and their archives.
//
// An archive has the points of one kind of machine (Target::key) as JSON lines; a name that ends in .gz is compressed.
//
//   {"lathe_predictions": 1, "machine": KEY, "facts": {...}, "vector_bits": 512, "version": ..., "measured": ...}
//   {"network": ..., "family": ..., "threads": 1, "batch": 1, "seconds": 0.0012, "kernels": [[ALGORITHM, FLOPS, BYTES,
//    CYCLES, SECONDS, CONSTANT_BYTES], ...], "held_out": true}
//
// ALGORITHM is the name in the kernel's schedule, FLOPS and BYTES are operations and compulsory traffic of one run,
// CYCLES is what the cost model predicts, SECONDS is what was measured (`lathe profile`). "seconds" of a network is the
// median of `lathe bench`, of a package whose outputs were verified. Networks that are "held_out" take part in no fit.
#pragma once

#include "machine/MachineFacts.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::predict {

/// What the cost model says of one run of a kernel.
struct KernelCost {
  std::string algorithm; // name of the schedule's algorithm, such as "winograd"
  double flops = 0, bytes = 0;
  double cycles = 0;        // positive: core cycles of a run on all threads
  double constantBytes = 0; // of the constants that it reads
};

struct MeasuredKernel : KernelCost {
  double seconds = 0; // measured
};

/// A network that ran with a number of threads.
struct MeasuredNetwork {
  std::string name, family; // `family`: of networks that are built alike; one takes part in a fit as a whole, or not
  int threads = 1;
  int64_t batch = 1;
  bool heldOut = false; // takes part in no fit: only for evaluations
  double seconds = 0;   // measured, for the whole network
  std::vector<MeasuredKernel> kernels;
};

/// The measured networks of one kind of machine.
struct MachinePoints {
  std::string machine; // Target::key
  MachineFacts facts;
  int vectorBits = 512;          // width of the vectors that the kernels compute with
  std::string source;            // path of the archive
  std::string version, measured; // of lathe, and date; for people
  std::vector<MeasuredNetwork> networks;

  /// Clock in cycles a second; 0: unknown.
  double clockHz(int threads) const { return facts.clockGhz(threads, vectorBits) * 1e9; }
};

/// Name of the algorithm in the text of a schedule: "winograd" in "winograd/2 m=4".
inline std::string algorithmOf(std::string_view schedule) {
  return std::string(schedule.substr(0, schedule.find('/')));
}

/// Reads an archive. Throws Error that begins with the path for damaged files, for times and costs that are not
/// positive, and if the facts lack the clock.
MachinePoints readPoints(const std::string &path);

} // namespace lathe::predict
