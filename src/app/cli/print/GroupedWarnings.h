// Groups equal warnings of many measurements, so that each is printed once.
#pragma once

#include <string>
#include <vector>

namespace lathe::cli {

/// The warnings of one measurement; `place` names the measurement: "between relu1 and relu2".
struct PlacedWarnings {
  std::string place;
  std::vector<std::string> warnings;
};

/// Returns one line for all warnings that differ only in their numbers, in order of appearance. A warning of a single
/// measurement has its place. A warning of several measurements has their number, and the first place if some
/// measurements lack it or if numbers differ.
std::vector<std::string> groupedWarnings(const std::vector<PlacedWarnings> &parts);

} // namespace lathe::cli
