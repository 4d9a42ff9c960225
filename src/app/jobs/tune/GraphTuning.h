// The part of `lathe tune` above single kernels. Measures the kernels whose times can decide between layouts, fusions
// and orders of images, and keeps the choice if the whole model is faster with it (docs/tuning.md).
#pragma once

#include "jobs/Progress.h"
#include "jobs/Recording.h"
#include "jobs/tune/TunedPackage.h"
#include "tune/Tuner.h"

namespace lathe::jobs {

struct GraphOutcome {
  size_t kernels = 0;                        // whose times can decide
  int measured = 0;                          // of them, by this run
  int choices = 0;                           // operators for which the times do not choose what predictions choose
  bool kept = false;                         // the chosen graph is kept
  std::optional<TunedComparison> comparison; // with the default graph, if there are choices
};

class GraphTuning {
public:
  /// Reads what earlier runs on this machine have measured in the same company. All arguments must outlive the object.
  /// `compiling` are options with which predictions alone decide. `beside`: what runs beside the measurements, or null.
  GraphTuning(const ModelOptions &model, const CompileOptions &compiling, Recording &recording, const Beside *beside);

  /// The measured times that compilations of the model use; empty if there are none. Before decide(): the times of
  /// earlier runs.
  MeasuredTimes times() const;
  /// Measures what earlier runs have not measured, until `deadline` (of lab::steadySeconds), and compares the graph
  /// that the times choose with the default graph for about `seconds`. Returns false if earlier runs have already done
  /// this. If the chosen graph is not slower, its times are recorded without a verdict: no compilation uses them before
  /// `settled`.
  bool decide(tune::TrialRunner &runner, double deadline, double seconds, Progress &progress);
  /// Keeps the chosen graph, or the default graph if the tuned model is not faster. Returns the records of this
  /// decision, to be stored together with the records of the tasks.
  std::vector<store::TunedTask> settled(bool keep);

  const GraphOutcome &outcome() const { return result; }

private:
  /// A kernel to be measured, with the schedule that it would get in the model.
  struct Question {
    tune::Task task;
    std::string schedule;
    std::optional<tune::Measurement> measurement; // measurement by this run, or from a record of an earlier run
    std::optional<double> seconds;                // seconds of one run; empty if the measurement failed
    store::TuningVerdict verdict = store::TuningVerdict::open;
  };
  const ModelOptions &model;
  const CompileOptions &compiling;
  Recording &recording;
  const Beside *beside;
  TimeRecords known;
  using Key = std::pair<std::string, std::string>; // text of the graph task; text of the schedule
  std::map<Key, Question> questions;
  GraphOutcome result;
  bool decided = false; // decide() has compared graphs in this run

  bool ask(bool answered);
  bool isSettled() const;
  bool isInterrupted() const;
  void measureAll(tune::TrialRunner &runner, double deadline, Progress &progress);
  void measure(tune::TrialRunner &runner, double deadline, Progress &progress);
  bool isUsed(const Key &key) const;
  /// Returns records of all measured kernels with this verdict. With `spareUsed`, times that compilations already use
  /// get no new record.
  std::vector<store::TunedTask> recordsOf(store::TuningVerdict verdict, bool spareUsed) const;
  void conclude(store::TuningVerdict verdict, bool spareUsed);
};

} // namespace lathe::jobs
