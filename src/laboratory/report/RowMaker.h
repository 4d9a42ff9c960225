// Makes rows (report/Rows.h) from stored points. Points of one problem are usually consecutive, so its text is parsed
// once.
#pragma once

#include "report/Rows.h"

#include <unordered_map>

namespace lathe::report {

class RowMaker {
public:
  /// Makes the row of a point, with the same result as the function report::rowOf.
  Row rowOf(const store::Point &point, const store::Experiment &experiment);

  /// The work of a problem, from its text; the members have the names that they have in Row.
  struct Work {
    std::optional<lab::Problem> shape;
    double flops = 0, bytes = 0;
  };
  Work workOf(const store::Point &point);

private:
  const Work &parsed(const std::string &text);

  std::unordered_map<std::string, Work> byText;
};

} // namespace lathe::report
