// Text and JSON of `lathe ops bench`: rows as they are measured, then summaries.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/ops/OpsBench.h"
#include "lab/problems/ProblemList.h"
#include "support/Table.h"

namespace lathe::cli {

/// A row of OpsRows as text: the problem with its setting, the time or status of each column, and the verdicts, on as
/// many lines as a terminal of `width` columns needs (0: one line).
std::string rowText(const nlohmann::json &row, size_t width);

std::string listText(const std::vector<lab::ListedProblem> &problems, const TableStyle &style);
Table suiteTable(const std::vector<lab::SuiteSummary> &suites);
std::string effortText(const OpsEffort &effort, size_t problems);

/// The summaries; the number of rows and of points that failed, of rows measured before and left for another time; the
/// number of rows whose times other programs disturbed or that drifted; the cost of calls by provider and threads; each
/// reason for missing counters, with the columns concerned.
std::string opsText(const OpsRows &result, const TableStyle &style);
nlohmann::json opsJson(const OpsRows &result);

} // namespace lathe::cli
