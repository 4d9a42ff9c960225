// Cells of CSV files (RFC 4180), a record a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Returns one cell, quoted if necessary.
std::string csvCell(std::string_view text);

/// Returns the cells of a line without their quotes; none for an empty line. Quotes may be missing at the end.
std::vector<std::string> csvCells(std::string_view line);

} // namespace lathe
