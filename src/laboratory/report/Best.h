// The fastest row of each cell, and the rows that failed.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

/// Returns the row with the lowest median among rows that count and are accepted by `chosen` (empty: all); null if
/// there is none.
const Row *fastest(const std::vector<const Row *> &cell, const std::function<bool(const Row &)> &chosen = {});

struct Best {
  const Row *row = nullptr;
  const Row *second = nullptr; // the next fastest row of the cell; null: none
  lab::RatioEstimate ratio;    // time of `second` / time of `row`
  /// The verdict on `row` against `second`: `faster` if it is faster with certainty; never `slower`.
  lab::Verdict verdict = lab::Verdict::ambiguous;
  std::string because; // why `verdict` is ambiguous (lab::ambiguityOf)
};

/// The fastest row of every cell that has a row that counts.
std::vector<Best> best(const std::vector<Row> &rows);

/// How often a column or an algorithm is the fastest of a cell (`best`), and how often with certainty or without a
/// competitor (`clearly`).
struct BestCount {
  std::string what; // a column, "lathe:auto", or an algorithm of a column, "lathe:auto winograd/1"
  size_t best = 0, clearly = 0;
};
/// Counts how often columns and algorithms are fastest; most wins first.
std::vector<BestCount> countBest(const std::vector<Best> &best);

/// Returns the rows that failed, crashed, timed out, exceeded memory or are mistrusted.
std::vector<const Row *> failed(const std::vector<Row> &rows);

nlohmann::json toJson(const Best &best);
nlohmann::json toJson(const BestCount &count);
nlohmann::json failedJson(const Row &row);

} // namespace lathe::report
