#include "jobs/ops/Report.h"

#include "jobs/ops/AnalyzedNetwork.h"
#include "jobs/ops/Ceilings.h"
#include "process/ShellWords.h"
#include "report/Collect.h"
#include "report/Speedup.h"
#include "store/ContentKey.h"

#include <set>

namespace lathe::jobs {
namespace {

/// Throws Error unless a row is in the column of --baseline.
void requireBaseline(const std::string &baseline, const std::vector<report::Row> &rows) {
  report::ColumnChoice choice = report::ColumnChoice::parse(baseline);
  std::set<std::string> known;
  for (const report::Row &row : rows) {
    if (choice.matches(row))
      return;
    known.insert(row.provider + (row.variant.empty() ? "" : ":" + row.variant));
  }
  require(known.empty(), "--baseline {}: has no points here, expected one of {}", baseline, fmt::join(known, ", "));
}

} // namespace

report::PageData reportOf(const ReportJob &job, store::Store &store, const store::Filter &filter) {
  if (!job.baseline.empty())
    requireBaseline(job.baseline, report::rowsOf(store, filter));
  ProgramBuild build = programBuild();
  Arguments words{"lathe", "report"};
  words.insert(words.end(), job.command.begin(), job.command.end());
  Ceilings ceilings(store);
  report::PageData data = report::collect(store, filter,
                                          {.title = job.title,
                                           .command = process::shellCommand(words),
                                           .version = build.version,
                                           .build = build.key,
                                           .created = store::timeNow(),
                                           .baseline = job.baseline},
                                          [&](const std::string &platform) { return ceilings.of(platform); });
  if (AnalyzedNetwork network = networkOf(job.network, filter.op); !network.parts.empty())
    data.addEstimates(job.network.model.empty() ? fmt::format("{}", fmt::join(job.network.suites, ", "))
                                                : job.network.model,
                      estimatesOf(network, report::latest(report::rowsOf(store, filter)), store));
  require(data.points() + data.tuningRecords() > 0, "{}: has no points that match the flags", store.path());
  return data;
}

} // namespace lathe::jobs
