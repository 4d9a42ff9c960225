// Times single runs of a package at one or several sizes of its inputs.
#pragma once

#include "jobs/Recording.h"
#include "jobs/ResourceOptions.h"
#include "lab/judging/Statistics.h"
#include "lab/machine/Counters.h"

#include <functional>
#include <map>

namespace lathe::jobs {

struct BenchJob {
  ModelOptions model;
  InputOptions inputs;
  RecordOptions record;
  ResourceOptions resources; // one value of each
  Arguments command;         // of `lathe bench`, as the store keeps them
  std::string batches;       // a list, as sizesOf takes it
  lab::StoppingRule rule;
  /// Numbers of contexts that divide the threads, as parseCounts takes them (jobs/bench/Instances.h); "": single runs.
  std::string instances;
  size_t repetitions = 0; // timed runs; 0: until `rule` is satisfied
  size_t warmUp = 3;      // runs before

  /// How every point is measured.
  nlohmann::json settings() const;
};

/// The job, without --shape if several shapes of an input are measured: the model is compiled without them.
BenchJob withoutSeveralShapes(BenchJob job);

/// The measurements at one size.
struct BenchedSize {
  std::string inputs, extents, variant;        // as in Prepared
  std::string mistrust;                        // not timed because of it; "" otherwise
  std::string note;                            // of the operations that the package counts, a line or ""
  std::vector<double> wallSeconds, cpuSeconds; // of each run, as `counts`
  std::vector<lab::Counts> counts;
  std::string uncounted; // why counts are missing
  lab::Summary wall, cpu;
  double flops = 0;
  runtime::MemoryUse memory;
  uint64_t peakBytes = 0; // peak memory of running the package so far
  bool finished = false;  // timing is complete

  double gflops() const { return flops / wall.median * 1e-9; }
};

struct Bench {
  int threads = 1;
  std::string target;
  Verification verification;
  bool several = false; // several sizes were requested; an interrupted job may have measured only one
  std::vector<BenchedSize> sizes;
  std::string resources;                   // lab::Resources::text
  std::map<std::string, std::string> held; // lab::HeldResources::readBack
  std::string kept;                        // Recording::line

  /// True if the outputs at the last size are mistrusted, so that it was not timed.
  bool isMistrusted() const { return !sizes.back().mistrust.empty(); }
};

/// Called once: at the end, or with what was measured when a signal ends the process.
using BenchReport = std::function<void(const Bench &bench, bool finished)>;

/// Does the job in this process. Stops at a size with mistrusted outputs. Returns false if there was one.
bool bench(const BenchJob &job, const BenchReport &report);

} // namespace lathe::jobs
