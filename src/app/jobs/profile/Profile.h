// The job of `lathe profile`: measures every kernel of a package over many runs, beside the limits of the machine.
#pragma once

#include "jobs/Recording.h"
#include "jobs/profile/ProfilePoints.h"
#include "jobs/profile/SlotUse.h"
#include "jobs/profile/TraceFile.h"

#include <map>

namespace lathe::jobs {

struct ProfileJob {
  ModelOptions model;
  InputOptions inputs;
  RecordOptions record;
  Arguments command;       // command line of `lathe profile` as the store records it
  std::string until;       // name of the node whose kernel runs last; "": all kernels run
  size_t repetitions = 40; // number of runs
  bool unchecked = false;  // true: measure even a package whose outputs were never verified
  std::string trace;       // path of the file to which a trace of the runs is written (TraceFile.h); "": no trace
  size_t traceEvents = 0;  // most events of each track of a run in the trace; 0: TraceRuns::limitOf

  /// Returns the settings by which every point was measured, as the store records them.
  nlohmann::json settings() const;
};

struct Profile {
  Prepared prepared;
  std::string mistrust; // reason why the measurements are not trusted (`mistrusted` of Prepared)
  Verification verification;
  bool refused = false; // true: the outputs are wrong, so the fields below were not measured
  ProfiledRun mean;
  std::vector<double> least; // shortest time of each instruction, in seconds
  size_t count = 0;          // number of instructions that ran
  // peak speed of the machine in GFLOPS for f32 and the types that the kernels multiply
  std::map<ElementType, double> peaks;
  double clock = 0;                 // clock rate in GHz
  double callOne = 0, forkJoin = 0; // seconds for an empty kernel on one thread and on all threads
  std::vector<bool> counts;         // for each run: true if the means include it
  std::vector<SlotUse> slots;       // by slot, means of some traced runs; empty: a run had too many events
  TraceRuns traced;
  nlohmann::json graph; // the graph of the kernels (KernelGraph.h)
  std::vector<store::Point> points;
  lab::MachineCeilings machine; // limits of the machine, with the peaks measured now
  store::Experiment experiment; // the recorded experiment; empty if nothing is stored
  std::string kept;             // line that says where the results were stored (Recording::line)

  int threads() const { return prepared.context->threads(); }
  /// True if the cost model has chosen the schedules for this number of threads.
  bool predicts() const { return prepared.model->plannedThreads() == threads(); }
  double overheadEach() const { return mean.overhead / static_cast<double>(std::max<size_t>(count, 1)); }
};

/// Measures the package in this process. The outputs are verified first unless that was done before.
Profile profile(const ProfileJob &options);

/// Returns the data of an HTML page that shows only this profile (ProfilePoints.h).
nlohmann::json profilePage(const ProfileJob &options, const Profile &profile, const std::string &title);

} // namespace lathe::jobs
