// The summary of `lathe ops analyze`: one line per analysis.
#pragma once

#include "cli/print/ops/AnalyzeTables.h"

namespace lathe::cli {

/// Returns a text about the rows of a store: number of points, problems, providers, platforms and dates.
std::string storeSummary(const std::string &path, const std::vector<report::Row> &rows);

// These functions return one line with the main figures of an analysis.
std::string summaryOf(const std::vector<report::RooflineShare> &shares);
std::string summaryOf(const std::vector<report::Counted> &counted);
std::string summaryOf(const report::Speedups &speedups);
std::string summaryOf(const std::vector<report::Best> &best);
std::string summaryOf(const report::ScheduleGains &gains);
std::string summaryOf(const std::vector<const report::Row *> &failed);
std::string summaryOf(const std::vector<report::Estimate> &estimates);
std::string summaryOf(const std::vector<report::Account> &accounts);
std::string summaryOf(const std::vector<report::ConvTable> &tables);
std::string summaryOf(const std::vector<report::Correlation> &correlations);
std::string summaryOf(const std::vector<report::Turning> &turnings);

} // namespace lathe::cli
