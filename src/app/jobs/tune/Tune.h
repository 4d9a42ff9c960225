// `lathe tune`: searches schedules for the kernels of a model, or of problems, by measuring them.
#pragma once

#include "jobs/Recording.h"
#include "jobs/tune/GraphTuning.h"
#include "jobs/tune/SpaceExport.h"
#include "jobs/tune/StartModels.h"
#include "jobs/tune/StreamTuning.h"
#include "jobs/tune/TaskList.h"
#include "jobs/tune/TunedPackage.h"
#include "lab/machine/Machine.h"

namespace lathe::jobs {

struct TuneJob {
  ModelOptions model;                // compiled without records; its name is "" if problems are tuned
  std::vector<std::string> problems; // KIND:TEXT
  std::vector<std::string> suites;   // of lists of problems
  std::string lists;                 // CSV with the suites; "": the installed lists
  BesideOptions beside;              // what runs while candidates and packages are measured
  RecordOptions record;
  Arguments command;             // of `lathe tune`, as the store keeps them
  tune::TuneOptions search;      // without a deadline and models
  double budget = 0;             // limit of the tuning time in seconds; 0: none
  std::string only;              // text in the label, nodes or text of the tasks
  std::string startFrom;         // file of models that the search starts from; "": the models that come with lathe
  std::string via, viaDirectory; // as in tune::MeasureOptions
  std::string output;            // the tuned package; "": none is written
  bool compare = false;          // compare the packages even if no schedule is faster

  bool hasModel() const { return !model.model.empty(); }
  /// A model that is measured here has a package.
  bool hasPackage() const { return hasModel() && via.empty(); }
  bool tunesStreams() const { return hasPackage() && only.empty() && model.streams == "auto" && model.threads > 1; }
  /// What is tuned, as the user named it: "zoo:resnet50", "conv2d:ic64ih56oc64kh3ph1", "networks/resnet50".
  std::string subject() const;
  std::string searcherName() const;
  /// The models that a search starts from. Throws Error if `startFrom` cannot be used.
  StartModels startModels() const;
};

/// The tasks of a job, with what earlier runs have measured of them.
struct TasksToTune {
  std::string target;
  TaskList list;
  std::vector<std::string> leftOut; // problems without a task, with reasons

  /// The members of every document about these tasks: subject, target, threads.
  nlohmann::json document(const TuneJob &job) const;
};

/// The limits of the machine with which times of trials are compared.
struct TuneCeilings {
  lab::MachineCeilings machine; // ceilings, with the peak that was measured beside the trials
  int threads = 1;
  double peakGflops() const { return machine.gflops(ElementType::f32, threads); }
  /// The roofline of a run of the task that takes `seconds`.
  lab::Roofline roofline(const tune::Task &task, double seconds) const;
};

/// The operations of a run of `seconds` in 1e9 a second.
inline double gflopsOf(const tune::Task &task, double seconds) { return seconds > 0 ? task.flops / seconds * 1e-9 : 0; }

/// What a search knows beforehand.
struct SearchStart {
  size_t tasks = 0, schedules = 0;   // measured for other tasks, in the store
  std::optional<StartModels> models; // trained elsewhere, for a family of the tasks
};

/// The state after a batch of trials.
struct SearchStep {
  size_t trials = 0;
  double seconds = 0;      // since the start of the job
  double modelSeconds = 0; // expected time of a run of the model
};

struct Tuned : TasksToTune {
  SearchStart start;
  std::vector<SearchStep> history;
  std::vector<tune::TunedTask> results; // by task
  std::optional<TuneCeilings> ceilings; // nothing: measured on another machine
  std::string ended;                    // why the search ended
  double seconds = 0, chooseSeconds = 0;
  tune::MeasureCounts counts;
  std::optional<GraphOutcome> graph;    // of a model that is measured here
  std::optional<TunedOutcome> whole;    // the tuned package; nothing: there is nothing to compare
  bool undone = false;                  // the tuned package was dropped
  std::optional<StreamOutcome> streams; // with --streams auto
  store::Company company;               // in which everything was measured
  std::string kept;                     // Recording::line

  /// True if a task could be measured.
  bool any() const;
};

/// The tasks, without measuring them.
TasksToTune tasksToTune(const TuneJob &job);
/// Writes the search spaces of the tasks.
ExportedSpace exportSpace(const TuneJob &job, const SpaceOptions &space);
/// Searches, and keeps what is faster in the store. `started` is called when the search begins, if it knows something.
Tuned tuneTasks(const TuneJob &job, const std::function<void(const SearchStart &)> &started);

} // namespace lathe::jobs
