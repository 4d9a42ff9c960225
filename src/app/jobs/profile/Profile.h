// Measures every kernel of a package over many runs, beside the limits of the machine.
#pragma once

#include "jobs/Recording.h"
#include "jobs/profile/ProfilePoints.h"
#include "jobs/profile/TraceFile.h"

#include <map>

namespace lathe::jobs {

struct ProfileJob {
  ModelOptions model;
  InputOptions inputs;
  RecordOptions record;
  Arguments command;       // of `lathe profile`, as the store keeps them
  std::string until;       // the node whose kernel is the last one that runs; "": all run
  size_t repetitions = 40; // runs
  bool unchecked = false;  // measure a package whose outputs were never verified
  std::string trace;       // file of a trace of the runs (TraceFile.h); "": none
  size_t traceEvents = 0;  // events of each track of a run; 0: TraceRuns::limitOf

  /// How every point is measured.
  nlohmann::json settings() const;
};

struct Profile {
  Prepared prepared;
  std::string mistrust; // Prepared's `mistrusted`
  Verification verification;
  bool refused = false; // the outputs are wrong: nothing below was measured
  ProfiledRun mean;
  std::vector<double> least;           // by instruction, in seconds
  size_t count = 0;                    // instructions that ran
  std::map<ElementType, double> peaks; // GFLOPS, of f32 and the types of the kernels' factors
  double clock = 0;                    // GHz
  double callOne = 0, forkJoin = 0;    // seconds of an empty kernel on one thread and on all
  std::vector<bool> counts;            // by run: the means are over these
  TraceRuns traced;
  nlohmann::json graph; // of the kernels (KernelGraph.h)
  std::vector<store::Point> points;
  lab::MachineCeilings machine; // with the present peaks
  store::Experiment experiment; // empty where nothing is stored
  std::string kept;             // Recording::line

  int threads() const { return prepared.context->threads(); }
  /// True if the cost model has chosen the schedules for this number of threads.
  bool predicts() const { return prepared.model->plannedThreads() == threads(); }
  double overheadEach() const { return mean.overhead / static_cast<double>(std::max<size_t>(count, 1)); }
};

/// Does the job in this process; the outputs are verified first unless that was done before (decision 9).
Profile profile(const ProfileJob &options);

/// The document of a page with this profile alone (ProfilePoints.h).
nlohmann::json profilePage(const ProfileJob &options, const Profile &profile, const std::string &title);

} // namespace lathe::jobs
