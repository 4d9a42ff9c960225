// Estimates of a network's time from the times of its operators.
#pragma once

#include "lab/problems/ProblemList.h"
#include "report/Rows.h"

namespace lathe::report {

/// An operator of a network: the text of its problem and the number of its occurrences.
struct Part {
  std::string problem;
  int64_t count = 1;
  std::vector<std::string> nodes = {}; // nodes of the model that this part represents
};

struct Estimate {
  std::string context;  // context of the rows used (contextText without the type)
  std::string provider; // provider whose times are added; "": the fastest provider for each operator
  std::string platform; // key of the platform of the rows used
  store::Setting setting;
  double seconds = 0;        // sum of count x best time, over the problems that have a time
  int64_t counted = 0;       // number of operators in the sum, including repetitions
  std::vector<Part> missing; // parts of the network whose problems have no time
  /// measuredSeconds: measured time of the whole network; difference: (estimate - measured) / measured.
  std::optional<double> measuredSeconds, difference;
};

/// Estimates a network's time for every setting in which a row measured one of its parts: first with the fastest
/// provider for each part, then for each provider. `measuredSeconds` returns the time of the whole network for a
/// setting, or nothing. If parts have no time, the sum and the difference are lower bounds.
std::vector<Estimate> estimates(const std::vector<Row> &rows, const std::vector<Part> &parts,
                                const std::function<std::optional<double>(const Estimate &estimate)> &measuredSeconds);

/// A line of the table of a network's convolutions: a convolution with its time.
struct ConvLine {
  std::string input, kernel, stride; // such as "1x64x56x56", "64x64x3x3", "1x1"
  std::string problem;
  double flops = 0;
  int64_t count = 1;
  const Row *row = nullptr; // fastest row of the convolution; null: not measured
  double seconds = 0;       // seconds of one run; 0: not measured
  double total = 0;         // count x seconds
  double share = 0;         // share of this line's `total` in the sum of all lines
};
struct ConvTable {
  std::string context;
  std::vector<ConvLine> lines; // lines of the table, largest `total` first
};

/// Makes a table of the convolutions among the parts of a network for every setting. If `parts` is empty, the tables
/// have the convolutions among the rows, each with count 1.
std::vector<ConvTable> convTables(const std::vector<Row> &rows, const std::vector<Part> &parts);

nlohmann::json toJson(const Estimate &estimate);
nlohmann::json toJson(const ConvTable &table);

} // namespace lathe::report
