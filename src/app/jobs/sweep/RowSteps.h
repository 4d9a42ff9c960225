// The steps of the rows of `lathe sweep`, each in a separate process: if a package crashes, hangs or takes all
// memory, its row gets a reason, and later rows still run.
#pragma once

#include "jobs/Inputs.h"
#include "jobs/sweep/RowFolder.h"
#include "jobs/sweep/Rows.h"

#include <functional>

namespace lathe::jobs {

/// The work of a child process of `lathe sweep`: one step of one row, given by hidden flags.
struct RowStep {
  std::string step; // "prepare" or "classify"; "": this process is not such a child process
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
  const Arguments &arguments; // arguments of this command line
};

/// Executes one step of a row in this process and writes the results of the row.
void doStep(const RowStep &step, const RowWork &work);

/// Prepares and classifies all rows of the sweep, each step in a separate process. Results that the folder already has
/// are reused. `progress` is called with "row" or "pictures at row" and the number of the row, `afterStep` after each
/// step.
void prepareRows(const RowWork &work, bool classifies,
                 const std::function<void(const std::string &what, size_t row)> &progress,
                 const std::function<void()> &afterStep);

} // namespace lathe::jobs
