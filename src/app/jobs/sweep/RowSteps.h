// The steps of the rows of `lathe sweep`, each in a separate process: a package that crashes, hangs or takes all memory
// gives a row with a reason, and later rows still run.
#pragma once

#include "jobs/Inputs.h"
#include "jobs/sweep/RowFolder.h"
#include "jobs/sweep/Rows.h"

#include <functional>

namespace lathe::jobs {

/// The task of a child process: one step of one row. Hidden flags of `sweep`.
struct RowStep {
  std::string step; // "prepare" or "classify"; "": this process is no step
  size_t row = 0;
  std::string folder;

  static constexpr const char *stepFlag = "--row-step", *rowFlag = "--row-number", *folderFlag = "--row-folder";
  bool asked() const { return !step.empty(); }
};

struct RowWork {
  std::vector<SweepRow> &rows;
  const InputOptions &inputs;
  SweepPictures &pictures;
  const RowFolder &folder;
  const Arguments &arguments; // arguments of this command
};

/// Executes the step in this process and writes the results of its row.
void doStep(const RowStep &step, const RowWork &work);

/// Prepares and classifies all rows, each step in a separate process. Results that the folder already has are reused.
/// `progress` is called with "row" or "pictures at row" and the number of the row, `afterStep` after each step.
void prepareRows(const RowWork &work, bool classifies,
                 const std::function<void(const std::string &what, size_t row)> &progress,
                 const std::function<void()> &afterStep);

} // namespace lathe::jobs
