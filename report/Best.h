// What is fastest for each problem, and what does not work.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

/// The row with the lowest median among those that count and that `chosen` takes (all where it is empty); null where
/// there is none.
const Row *fastest(const std::vector<const Row *> &cell, const std::function<bool(const Row &)> &chosen = {});

struct Best {
  const Row *row = nullptr;
  const Row *second = nullptr; // null: it is alone
  lab::RatioEstimate ratio;    // the second's time / the best one's
  /// Faster: the best one is so beyond doubt. Never slower.
  lab::Verdict verdict = lab::Verdict::ambiguous;
};

/// Of every cell that has a row that counts.
std::vector<Best> best(const std::vector<Row> &rows);

/// How often something is best, and how often beyond doubt (or alone).
struct BestCount {
  std::string what; // a column "lathe:auto", or an algorithm of one "lathe:auto winograd/1"
  size_t best = 0, clearly = 0;
};
/// Most often first.
std::vector<BestCount> countBest(const std::vector<Best> &best);

/// Rows that failed, crashed, hung, took too much memory or are mistrusted.
std::vector<const Row *> failed(const std::vector<Row> &rows);

nlohmann::json toJson(const Best &best);
nlohmann::json toJson(const BestCount &count);
nlohmann::json failedJson(const Row &row);

} // namespace lathe::report
