// Text, JSON and CSV of `lathe store trend`.
#pragma once

#include "report/Trend.h"
#include "support/Table.h"

#include <nlohmann/json.hpp>

namespace lathe::cli {

/// A table with one line a series, or with `histories` a table of the observations of each series. `store`: its path.
std::string trendText(const std::vector<report::TrendSeries> &all, bool histories, const std::string &store,
                      const TableStyle &style);
nlohmann::json trendJson(const std::vector<report::TrendSeries> &all, const std::string &store);
/// The observations as CSV for other programs, one row each.
std::string trendCsv(const std::vector<report::TrendSeries> &all);

} // namespace lathe::cli
