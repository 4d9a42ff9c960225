// Output of `lathe ops bench`: rows as they are measured, then summaries. A row is JSON in the form of lab::toJson.
#pragma once

#include "lab/ops/OpsLab.h"
#include "lab/problems/ProblemList.h"
#include "support/Table.h"

namespace lathe::cli {

/// Prints a measured row: the problem with its setting, the time or status of each column, and the verdicts, on as
/// many lines as a terminal of `width` columns needs (0: one line).
void printRow(const nlohmann::json &row, size_t width);

void printSummaries(const std::vector<lab::OpsSummary> &summaries, const TableStyle &style);
void printList(const std::vector<lab::ListedProblem> &problems, const TableStyle &style);
Table suiteTable(const std::vector<lab::SuiteSummary> &suites);

/// Returns the number of points in the rows that failed, crashed, timed out or are mistrusted.
size_t wrongPoints(const std::vector<nlohmann::json> &rows);
/// Returns a text with the number of rows and of points that failed (wrongPoints), and how many rows were `measured`
/// now, `kept` from an earlier run, and `left` for a later run. It states the number of rows whose times drifted or
/// were disturbed by other programs.
std::string totalsText(const std::vector<nlohmann::json> &rows, size_t measured, size_t kept, size_t left);
/// Returns a text with the cost of calls by provider and threads, and the number of verdicts that this cost makes
/// uncertain.
std::string overheadText(const std::vector<nlohmann::json> &rows);
/// Returns a text that states each reason for missing processor counters, with the columns concerned.
std::string uncountedText(const std::vector<nlohmann::json> &rows);

} // namespace lathe::cli
