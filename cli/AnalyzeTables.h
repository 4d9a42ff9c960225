// What the analyses (report/) found, for people.
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

#include <string>
#include <vector>

namespace lathe::cli {

/// Tables with at most `limit` rows each, and a line that says how many there are beyond; 0: all.
std::string rooflineText(const std::vector<report::RooflineShare> &shares, size_t limit);
std::string speedupText(const report::Speedups &speedups, const std::string &baseline, size_t limit);
std::string countedText(const std::vector<report::Counted> &counted, size_t limit);
std::string bestText(const std::vector<report::Best> &best, size_t limit);
std::string schedulesText(const report::ScheduleGains &gains, size_t limit);
std::string failedText(const std::vector<const report::Row *> &failed, size_t limit);
std::string estimateText(const std::vector<report::Estimate> &estimates, size_t limit);
std::string accountText(const std::vector<report::Account> &accounts, size_t limit);
std::string convTableText(const std::vector<report::ConvTable> &tables, size_t limit);
std::string correlationText(const std::vector<report::Correlation> &correlations, size_t limit);
std::string turningText(const std::vector<report::Turning> &turnings, size_t limit);
/// Points that are the same on both sides only with `all`.
std::string diffText(const report::Diff &diff, bool all, size_t limit);

} // namespace lathe::cli
