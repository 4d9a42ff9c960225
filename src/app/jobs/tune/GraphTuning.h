// The part of `lathe tune` above single kernels: measures the kernels between which layouts, fusion and the order of
// images leave a choice, and keeps what their times choose if the whole model is faster with it (docs/tuning.md).
#pragma once

#include "jobs/Progress.h"
#include "jobs/Recording.h"
#include "jobs/tune/TunedPackage.h"
#include "tune/Tuner.h"

namespace lathe::jobs {

class GraphTuning {
public:
  /// All arguments outlive the object. Reads what earlier runs on this machine have measured. `compiling` decides by
  /// predictions.
  GraphTuning(const ModelOptions &model, const CompileOptions &compiling, Recording &recording);

  /// The times that compilations of the model use; empty if there are none. Before decide(): of earlier runs.
  MeasuredTimes times() const;
  /// Measures what earlier runs have not, until `deadline` (of lab::steadySeconds), and compares the graph that the times
  /// choose with the default one for about `seconds`. Returns false where earlier runs have done all this. If the chosen
  /// graph is not slower as a whole, its times are recorded without a verdict: no compilation uses them before `settled`.
  bool decide(tune::TrialRunner &runner, double deadline, double seconds, Progress &progress);
  /// Keeps the chosen graph, or the default one after all where the tuned model is not faster. Returns the records that say
  /// so, to be kept together with those of the tasks.
  std::vector<store::TunedTask> settled(bool keep);

  bool isKept() const { return kept; }
  /// "graph: 12 kernels measured; their times choose other layouts, kernels or orders of images for 3 operators: 1.03
  /// times ..., kept"; "" where decide() had nothing to do.
  std::string line() const;
  nlohmann::json json() const;

private:
  /// A kernel with the schedule that it would have.
  struct Question {
    tune::Task task;
    std::string schedule;
    std::optional<tune::Measurement> measurement; // of this run, or of the record
    std::optional<double> seconds;                // of one run; empty if the measurement failed
    store::TuningVerdict verdict = store::TuningVerdict::open;
  };
  const ModelOptions &model;
  const CompileOptions &compiling;
  Recording &recording;
  GraphRecords known;
  using Key = std::pair<std::string, std::string>; // text of the graph task, schedule
  std::map<Key, Question> questions;
  int measured = 0, choices = 0;
  bool kept = false, decided = false; // decided: by this run
  std::optional<TunedComparison> comparison;

  bool ask(bool answered);
  bool isSettled() const;
  bool isInterrupted() const;
  void measureAll(tune::TrialRunner &runner, double deadline, Progress &progress);
  void measure(tune::TrialRunner &runner, double deadline, Progress &progress);
  bool isUsed(const Key &key) const;
  /// Records of all measured kernels, with this verdict. With `spareUsed`, times that compilations use already get no
  /// new record.
  std::vector<store::TunedTask> recordsOf(store::TuningVerdict verdict, bool spareUsed) const;
  void conclude(store::TuningVerdict verdict, bool spareUsed);
};

} // namespace lathe::jobs
