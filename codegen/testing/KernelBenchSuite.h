// Tables of convolutions that kernel-bench runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe {

struct SuiteProblem {
  int64_t channels = 0, height = 0, outChannels = 0, kernel = 0; // kernel: its height
  std::map<std::string, int64_t> more; // as kernel-bench's conv spells it: w, kw, stride, pad, ...
};

/// Distinct rows of a comma-separated table whose first line names the columns (suite, batch, in_channels, ... groups),
/// of the suites whose names contain `suite`, in the table's order. Throws Error with file, line and column for what is
/// not a number.
std::vector<SuiteProblem> readSuite(const std::string &path, const std::string &suite);

} // namespace lathe
