// Slow-downs by company: the time of a problem beside another one over its time alone, in one experiment.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

struct SlowDown {
  const Row *together = nullptr, *alone = nullptr; // rows of one experiment, which differ in their company only
  lab::JudgedRatio judged; // ratio of times: `together` / `alone`; `slower`: the work is slower in company
  bool disturbed = false;  // other programs ran during one of the measurements
};

/// Keeps the last measurement of each problem in company (keyOf), and the row alone that took turns with it.
std::vector<Row> withCompany(const std::vector<Row> &rows);

/// Returns the slow-down of every row in company that counts (Row::counts) and whose experiment has the same row alone.
std::vector<SlowDown> slowDowns(const std::vector<Row> &rows);

/// Slow-downs of one column under one setting: a row for each problem, a column for each company.
struct CompanyMatrix {
  std::string context;                              // setting without company (contextText)
  std::string column;                               // provider and variant of the measured side, with its schedule
  std::vector<std::string> companies;               // store::Company::str
  std::vector<std::vector<const SlowDown *>> lines; // one for each problem; null where nothing was measured
};
std::vector<CompanyMatrix> matricesOf(const std::vector<SlowDown> &slowDowns);

nlohmann::json toJson(const SlowDown &slowDown);

} // namespace lathe::report
