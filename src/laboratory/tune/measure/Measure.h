// Measures schedules of tasks: builds candidates in parallel, then runs each alone, checks its results and times it.
//
//   Measurer measurer({.target = "native", .threads = 2, .folder = cache});
//   if (measurer.prepare(task))
//     for (const Measurement &one : measurer.measure(task, schedules, best))
//       ...
//
// Worker processes (lathe-tune-builder, one per CPU) build candidates, and another process (lathe-tune-runner) runs
// them, each candidate in a child process. Nothing is built while a candidate runs. A candidate that crashes, hangs,
// allocates without end or computes wrong results costs one trial and gets its status and reason.
#pragma once

#include "lab/corun/PackageCompanion.h"
#include "lab/judging/Verdict.h"
#include "support/Error.h"
#include "tune/measure/Measurement.h"
#include "tune/measure/Task.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathe::tune {

struct MeasureOptions {
  std::string compiling; // how kernels are compiled: JSON of CompileChoices (compile/Options.h); "": the defaults
  uint64_t seed = 1;     // seed from which operands are made
  /// Folder that keeps operands and expected results for later runs, up to 8 GiB by last use; "": a temporary folder.
  std::string folder;
  int builders = 0; // number of builder processes; 0: one for each CPU that this process may use

  /// Command that starts the runner on another machine and connects pipes to it ("ssh board"); "": the runner runs on
  /// this machine.
  std::string via;
  /// Folder of the runner program on the other machine; "": the same path as here.
  std::string viaDirectory;
  /// Paths of the builder and the runner program; "": lathe-tune-builder and lathe-tune-runner beside this program.
  std::string builder, runner;

  double buildSeconds = 60;              // limit on the seconds of building a candidate
  int64_t buildBytes = int64_t(6) << 30; // limit on a builder's resident memory
  double runSeconds = 10;                // limit on the seconds of one run
  int64_t runBytes = int64_t(1) << 30;   // limit on the memory that a candidate touches besides operands and scratch
  int minSamples = 8, maxSamples = 200;  // number of timed runs of a candidate whose timing is not cut short
  double sampleSeconds = 0.15;           // a candidate is timed for about this many seconds
  double precisionWanted = 0.01;         // timing ends when three samples are within this share of the smallest sample
  /// What runs without end while candidates are timed, and the CPUs to which the runner is bound then; null: candidates
  /// run alone. No timing is cut short in company: it lasts until PackageCompanion::leastRuns runs of the companion
  /// have ended within the timed runs, for sampleSeconds at least and companySeconds at most. A candidate with fewer is
  /// mistrusted.
  std::shared_ptr<lab::PackageCompanion> beside;
  NumberList cpus;
  double companySeconds = 60;

  double cut = 1.5; // a candidate whose first runs take more than `cut` times the best so far is not repeated

  /// For tests: function that changes a built candidate before it runs (docs/notes/tuning-measurement.md).
  std::function<void(nlohmann::json &candidate)> alterCandidate;
};

/// What measuring has cost so far, in trials and seconds.
struct MeasureCounts {
  int64_t trials = 0; // number of measured schedules, including failures
  /// Seconds of wall time for building batches, for running candidates, and for operands and references.
  double build = 0, run = 0, prepare = 0;
  /// Seconds that all builders together spent on generating loops, in LLVM, and on packing of constants.
  double generate = 0, lower = 0, pack = 0;

  double seconds() const { return build + run + prepare; }
  double trialsPerMinute() const { return seconds() > 0 ? 60 * double(trials) / seconds() : 0; }
};

/// The measurement of a schedule that was timed in turns with others.
struct TurnMeasurement : Measurement {
  /// Ratio of times, first schedule / this schedule: the verdict faster means that this schedule is faster than the
  /// first one.
  lab::JudgedRatio toFirst;
};

class Measurer {
public:
  /// Prepares measuring, but starts no process yet. Throws Error for impossible options.
  explicit Measurer(MeasureOptions options);
  ~Measurer();

  /// Makes operands and expected results of the task, or finds them in the folder. Declines, with the reason, a task
  /// that cannot be measured: it has no reference, or its results are constant and so prove nothing. `measure` calls
  /// this function, too.
  Outcome<bool> prepare(const Task &task);

  /// Builds all `schedules` of a task, then runs each. `best`: the shortest time of the task so far in seconds, or
  /// `unmeasured`. `done` is called for each measurement as soon as it is complete. Returns the measurements in the
  /// order of `schedules`.
  std::vector<Measurement> measure(const Task &task, const std::vector<std::string> &schedules, double best,
                                   const std::function<void(const Measurement &)> &done = {});

  /// Measures schedules of a task in turns over several process starts, for about `seconds`, and judges each against
  /// the first one (docs/measuring.md).
  std::vector<TurnMeasurement> inTurns(const Task &task, const std::vector<std::string> &schedules, double seconds);

  const MeasureCounts &counts() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace lathe::tune
