// A network's list of operators against what each was measured to take.
#pragma once

#include "lab/problems/ProblemList.h"
#include "report/Rows.h"

namespace lathe::report {

/// An operator of a network: the problem's own text and how often it occurs.
struct Part {
  std::string problem;
  int64_t count = 1;
  std::vector<std::string> nodes = {}; // of a model: those it stands for
};

struct Estimate {
  std::string context;  // of the rows it is made of (contextText, without what a problem's type decides)
  std::string provider; // "": the fastest of all
  std::string platform; // key
  store::Setting setting;
  double seconds = 0;                                // sum of count x best time, over the problems that have one
  int64_t counted = 0;                               // operators that are in it, each as often as it occurs
  std::vector<Part> missing;                         // problems without a time
  std::optional<double> measuredSeconds, difference; // end to end; (estimate - measured) / measured
};

/// For every setting that has any of the parts: all providers together first, then each of them. `measuredSeconds` says
/// what the whole network takes under a setting, none where nobody knows. Where problems are missing the sum is a lower
/// bound, and so is the difference.
std::vector<Estimate> estimates(const std::vector<Row> &rows, const std::vector<Part> &parts,
                                const std::function<std::optional<double>(const Estimate &estimate)> &measuredSeconds);

/// A line of the table of convolutions.
struct ConvLine {
  std::string input, kernel, stride; // "1x64x56x56", "64x64x3x3", "1x1"
  std::string problem;
  double flops = 0;
  int64_t count = 1;
  const Row *row = nullptr; // the fastest; null: not measured
  double seconds = 0;       // of one run; 0: not measured
  double total = 0;         // count x seconds
  double share = 0;         // of the sum of all lines
};
struct ConvTable {
  std::string context;
  std::vector<ConvLine> lines; // the largest total first
};

/// The convolutions among the parts (where there are none: among the rows, each once), for every setting.
std::vector<ConvTable> convTables(const std::vector<Row> &rows, const std::vector<Part> &parts);

nlohmann::json toJson(const Estimate &estimate);
nlohmann::json toJson(const ConvTable &table);

} // namespace lathe::report
