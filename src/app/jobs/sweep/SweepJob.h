// One model, or several, at every level, layout, target and number of threads.
#pragma once

#include "jobs/sweep/Decisions.h"
#include "jobs/sweep/RowSteps.h"

namespace lathe::jobs {

struct SweepJob {
  ModelOptions model;
  InputOptions inputs;
  RecordOptions record;
  Arguments command; // of `lathe sweep`, as the store keeps them
  SweepPictures pictures;
  lab::TurnOptions turns;
  RowStep step;
  std::vector<std::string> with, against, targets{"native"};   // models; runners; as CompileChoices::target
  std::string levels = "0-4", threads = "1", layouts = "auto"; // lists

  bool classifies() const { return !pictures.data.data.empty(); }
  /// Reads --data, before anything is compiled.
  void readPictures();
  /// The rows of the grid, models outermost, then targets, threads, levels and layouts. Behind the rows of a model those of
  /// --against.
  std::vector<SweepRow> rows() const;
  /// Everything that the rows depend on: what an interrupted sweep has done serves a command with equal ones.
  nlohmann::json identity(const Arguments &arguments, const std::vector<SweepRow> &rows) const;
  nlohmann::json settings() const {
    return {
        {"max_seconds", turns.maxSeconds}, {"starts", turns.minStarts}, {"fill", inputs.fill}, {"seed", inputs.seed}};
  }

private:
  void addRuntimeRows(const ModelOptions &flags, std::vector<SweepRow> &rows) const;
  ModelOptions flagsOf(const std::string &name) const;
};

/// Called with what is known, at the end or when a signal ends the process. `kept` is Recording::line.
using SweepReport = std::function<void(const Sweep &soFar, bool finished, const std::string &kept)>;

/// Does the job, or its step alone. Reads the pictures of `job`. Returns true if a row failed.
bool sweep(SweepJob &job, const SweepReport &report);

} // namespace lathe::jobs
