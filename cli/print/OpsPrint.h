// What `lathe ops bench` prints: rows as they come, and what follows from all of them. Rows are those of lab::toJson.
#pragma once

#include "lab/ops/OpsLab.h"
#include "lab/problems/ProblemList.h"
#include "support/Table.h"

namespace lathe::cli {

/// The problem with its setting, each column's time or status, the verdicts; on as many lines as a terminal of `width`
/// columns needs (0: one).
void printRow(const nlohmann::json &row, size_t width);

void printSummaries(const std::vector<lab::OpsSummary> &summaries, const TableStyle &style);
void printList(const std::vector<lab::ListedProblem> &problems, const TableStyle &style);
void printSuites(const std::vector<lab::SuiteSummary> &suites, const TableStyle &style);

/// Points that failed, crashed, hung or are mistrusted.
size_t wrongPoints(const std::vector<nlohmann::json> &rows);
/// How many rows there are, what is wrong with them, how many were `kept` before and are `left` for another time.
std::string totalsText(const std::vector<nlohmann::json> &rows, size_t measured, size_t kept, size_t left);
/// What calls cost besides the work, by provider and threads, and how many verdicts that leaves open.
std::string overheadText(const std::vector<nlohmann::json> &rows);
/// Once for each reason: whose runs were not counted, and why.
std::string uncountedText(const std::vector<nlohmann::json> &rows);

} // namespace lathe::cli
