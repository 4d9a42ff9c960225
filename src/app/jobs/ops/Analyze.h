// Analyses of the measurements in a store (docs/analysing.md).
#pragma once

#include "jobs/ops/OpsOptions.h"
#include "report/Account.h"
#include "report/Best.h"
#include "report/Correlation.h"
#include "report/Counted.h"
#include "report/Network.h"
#include "report/RooflineShares.h"
#include "report/ScheduleGains.h"
#include "report/Speedup.h"
#include "report/TurningPoint.h"
#include "report/company/SlowDowns.h"

#include <variant>

namespace lathe::jobs {

struct AnalyzeJob {
  OpsOptions network;            // operators of a network, and their counts
  std::vector<std::string> what; // names of analyses, or "all"; empty: all
  std::vector<int> threads;      // only points with these numbers of threads; empty: with any
  std::string baseline;          // text of a report::ColumnChoice; "": none
  double measuredMs = 0;         // time of the whole network; 0: AnalyzedNetwork::seconds finds it

  bool wants(std::string_view analysis) const;
};

/// The names of all analyses, in their order.
std::vector<std::string> analysisNames();

struct Finding {
  std::string name;
  std::string reason; // why there are no figures; "": `figures` has them
  std::variant<std::vector<report::RooflineShare>, std::vector<report::Counted>, report::Speedups,
               std::vector<report::Best>, report::ScheduleGains, std::vector<const report::Row *>,
               std::vector<report::Estimate>, std::vector<report::Account>, std::vector<report::ConvTable>,
               std::vector<report::Correlation>, report::TurningPoints, std::vector<report::SlowDown>>
      figures;
};

struct Analyzed {
  std::vector<report::Row> rows;      // findings point to them
  std::vector<report::Row> inCompany; // report::withCompany
  std::vector<Finding> findings;
};

/// Analyses the points of `filter`. Of several measurements of one point the last one counts. Throws Error if there is
/// no point.
Analyzed analyze(const AnalyzeJob &job, store::Store &store, store::Filter filter);

} // namespace lathe::jobs
