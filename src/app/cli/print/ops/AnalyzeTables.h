// Tables that show the analyses of src/laboratory/report as text.
#pragma once

#include "report/Account.h"
#include "report/Best.h"
#include "report/Correlation.h"
#include "report/Counted.h"
#include "report/Diff.h"
#include "report/Network.h"
#include "report/RooflineShares.h"
#include "report/ScheduleGains.h"
#include "report/Speedup.h"
#include "report/TurningPoint.h"
#include "support/Table.h"

#include <string>
#include <vector>

namespace lathe::cli {

/// These functions return a table as text, with at most `style.rows` rows.
std::string rooflineText(const std::vector<report::RooflineShare> &shares, const TableStyle &style);
std::string speedupText(const report::Speedups &speedups, const std::string &baseline, const TableStyle &style);
std::string countedText(const std::vector<report::Counted> &counted, const TableStyle &style);
std::string bestText(const std::vector<report::Best> &best, const TableStyle &style);
std::string schedulesText(const report::ScheduleGains &gains, const TableStyle &style);
std::string failedText(const std::vector<const report::Row *> &failed, const TableStyle &style);
std::string estimateText(const std::vector<report::Estimate> &estimates, const TableStyle &style);
std::string accountText(const std::vector<report::Account> &accounts, const TableStyle &style);
std::string convTableText(const std::vector<report::ConvTable> &tables, const TableStyle &style);
std::string correlationText(const std::vector<report::Correlation> &correlations, const TableStyle &style);
std::string turningText(const std::vector<report::Turning> &turnings, const TableStyle &style);
/// Returns a table of the differences between two sets of measurements; `all`: also of points that are equal in both.
std::string diffText(const report::Diff &diff, bool all, const TableStyle &style);

} // namespace lathe::cli
