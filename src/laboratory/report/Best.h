// Finds the fastest row of each cell (rows with the same work and conditions, report/Rows.h), and the rows that
// failed.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

/// Returns the row of a cell with the lowest median among the rows that count (Row::counts) and are accepted by
/// `chosen` (empty: all); null if there is none.
const Row *fastest(const std::vector<const Row *> &cell, const std::function<bool(const Row &)> &chosen = {});

struct Best {
  const Row *row = nullptr;
  const Row *second = nullptr; // the next fastest row of the cell; null: none
  lab::RatioEstimate ratio;    // ratio of times: `second` / `row`
  /// The verdict on `row` against `second`: `faster` if it is faster with certainty; never `slower`.
  lab::Verdict verdict = lab::Verdict::ambiguous;
  std::string because; // why `verdict` is ambiguous (lab::ambiguityOf)
};

/// Returns the fastest row of every cell that has a row that counts (Row::counts).
std::vector<Best> best(const std::vector<Row> &rows);

/// Number of cells in which a column or an algorithm is the fastest (`best`), and in how many of them with certainty
/// or without a competitor (`clearly`).
struct BestCount {
  std::string what; // a column, "lathe:auto", or an algorithm of a column, "lathe:auto winograd/1"
  size_t best = 0, clearly = 0;
};
/// Counts in how many cells each column and algorithm is the fastest; sorted by this number, the largest first.
std::vector<BestCount> countBest(const std::vector<Best> &best);

/// Returns the rows that failed, crashed, timed out, exceeded memory or are mistrusted.
std::vector<const Row *> failed(const std::vector<Row> &rows);

nlohmann::json toJson(const Best &best);
nlohmann::json toJson(const BestCount &count);
nlohmann::json failedJson(const Row &row);

} // namespace lathe::report
