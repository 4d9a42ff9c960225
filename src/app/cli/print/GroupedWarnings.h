// Prints equal warnings of many measurements once.
#pragma once

#include <string>
#include <vector>

namespace lathe::cli {

/// Warnings of one measurement; `place` says of which: "between relu1 and relu2".
struct PlacedWarnings {
  std::string place;
  std::vector<std::string> warnings;
};

/// One line for all warnings that differ only in their numbers, in order of appearance. A warning of one part has its
/// place. A warning of several parts has their number, and the first place if some parts lack it or if numbers differ.
std::vector<std::string> groupedWarnings(const std::vector<PlacedWarnings> &parts);

} // namespace lathe::cli
