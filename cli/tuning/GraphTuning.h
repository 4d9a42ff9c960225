// The part of `lathe tune` above single kernels: measures the kernels between which layouts, fusion and the order of
// images leave a choice, and keeps what their times choose if the whole model is faster with it (docs/tuning.md).
#pragma once

#include "cli/Recording.h"
#include "cli/print/Progress.h"
#include "cli/tuning/TunedPackage.h"
#include "tune/Tuner.h"

namespace lathe::cli {

class GraphTuning {
public:
  /// All arguments outlive the object. Reads what earlier runs on this machine have measured. `compiling` decides by
  /// predictions.
  GraphTuning(const ModelFlags &model, const CompileOptions &compiling, Recording &recording);

  /// The times that compilations of the model use; empty if there are none. Before decide(): of earlier runs.
  MeasuredTimes times() const;
  /// Measures what earlier runs have not, until `deadline` (of lab::steadySeconds), and compares the graph that the times
  /// choose with the default one for about `seconds`. The times are kept for compilations unless the chosen graph is
  /// slower as a whole. Returns false where earlier runs have done all this.
  bool decide(tune::TrialRunner &runner, double deadline, double seconds, Progress &progress);
  /// Keeps the default graph after all: the tuned model is not faster.
  void undo();

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
  const ModelFlags &model;
  const CompileOptions &compiling;
  Recording &recording;
  GraphRecords known;
  std::map<std::pair<std::string, std::string>, Question> questions; // by text of the graph task and schedule
  int measured = 0, choices = 0;
  bool kept = false;
  std::optional<TunedComparison> comparison;

  bool ask(bool answered);
  bool isSettled() const;
  void measure(tune::TrialRunner &runner, double deadline, Progress &progress);
  void record(store::TuningVerdict verdict, bool spareUsed);
};

} // namespace lathe::cli
