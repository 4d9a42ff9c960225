// The job of `lathe sweep`: one model, or several, at every level, layout, target and number of threads.
#pragma once

#include "jobs/sweep/Decisions.h"
#include "jobs/sweep/RowSteps.h"

namespace lathe::jobs {

struct SweepJob {
  ModelOptions model;
  InputOptions inputs;
  RecordOptions record;
  ResourceOptions resources;
  Arguments command; // arguments of `lathe sweep`, as the store keeps them
  SweepPictures pictures;
  lab::TurnOptions turns;
  RowStep step;
  // further models; other runtimes; targets in the form of CompileChoices::target
  std::vector<std::string> with, against, targets{"native"};
  std::string levels = "0-4", threads = "1", layouts = "auto"; // values of the flags, as texts that list them

  bool classifies() const { return !pictures.data.data.empty(); }
  /// Reads the pictures of --data. Called before anything is compiled.
  void readPictures();
  /// Makes the rows of the sweep: models outermost, then targets, resources, threads, levels and
  /// layouts. After the rows of a
  /// model follow those of the runtimes that --against names.
  std::vector<SweepRow> rows() const;
  /// Everything that the rows depend on: a command with equal values continues an interrupted sweep.
  nlohmann::json identity(const Arguments &arguments, const std::vector<SweepRow> &rows) const;
  nlohmann::json settings() const {
    return {
        {"max_seconds", turns.maxSeconds}, {"starts", turns.minStarts}, {"fill", inputs.fill}, {"seed", inputs.seed}};
  }

private:
  void addRuntimeRows(const ModelOptions &flags, const std::vector<lab::Resources> &held,
                      std::vector<SweepRow> &rows) const;
  ModelOptions flagsOf(const std::string &name) const;
};

/// Function that is called with the results so far, at the end or when a signal ends the process. `kept` is
/// Recording::line.
using SweepReport = std::function<void(const Sweep &soFar, bool finished, const std::string &kept)>;

/// Does the job of `lathe sweep`, or, in a child process, its step. Reads the pictures of `job`. Returns true if a row
/// failed.
bool sweep(SweepJob &job, const SweepReport &report);

} // namespace lathe::jobs
