// Makes rows from points. Points of one problem are usually consecutive, so its text is parsed once.
#pragma once

#include "report/Rows.h"

#include <unordered_map>

namespace lathe::report {

class RowMaker {
public:
  /// Makes the row of a point, with the same result as report::rowOf.
  Row rowOf(const store::Point &point, const store::Experiment &experiment);

  /// What the text of a problem says about its work; the members have the names that they have in Row.
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
