// Measurements of a store as the data of a page (docs/reports.md).
#pragma once

#include "jobs/ops/OpsOptions.h"
#include "report/PageData.h"

namespace lathe::jobs {

struct ReportJob {
  OpsOptions network;   // whose time is estimated
  Arguments command;    // of `lathe report`, which the page shows
  std::string title;    // "": the kinds of the experiments
  std::string baseline; // text of a report::ColumnChoice whose speedups are shown first; "": the page chooses
};

/// The points and tuning records that `filter` selects. Throws Error if there is none, or none of the baseline.
report::PageData reportOf(const ReportJob &job, store::Store &store, const store::Filter &filter);

} // namespace lathe::jobs
