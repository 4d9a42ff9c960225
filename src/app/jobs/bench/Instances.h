// Times instances of a package that divide its threads and run at the same time: latency of a run, and throughput of
// all together, in turns with a single instance.
#pragma once

#include "jobs/bench/Bench.h"
#include "jobs/corun/Instances.h"

namespace lathe::jobs {

/// The measurements at one size.
struct InstancesAtSize {
  std::string inputs, extents, variant; // as in Prepared
  std::string mistrust;                 // not timed because of it; "" otherwise
  std::vector<CorunMove> moves;         // by number of instances; the first has one
  lab::CorunResult result;              // a member for each move; the gains are over a single instance
};

struct InstancesBench {
  int threads = 1;
  NumberList cpus; // CPU of each thread of a single instance
  std::string target;
  Verification verification;
  bool several = false; // several sizes were requested; an interrupted job may have measured only one
  std::vector<InstancesAtSize> sizes;
  size_t stored = 0;                       // sizes whose points are in the store
  std::string resources;                   // lab::Resources::text
  std::map<std::string, std::string> held; // lab::HeldResources::readBack
  std::string kept;                        // Recording::line

  /// True if the outputs at the last size are mistrusted, so that it was not timed.
  bool isMistrusted() const { return !sizes.back().mistrust.empty(); }
};

/// Called once: at the end, or with what was measured when a signal ends the process.
using InstancesReport = std::function<void(const InstancesBench &bench, bool finished)>;

/// Does a job that has BenchJob::instances. Stops at a size with mistrusted outputs. Returns false if there was one,
/// and if outputs of an instance were wrong or its runs too few. Throws Error for a number of instances that does not
/// divide the threads.
bool benchInstances(const BenchJob &job, const InstancesReport &report);

} // namespace lathe::jobs
