// Ranges in the texts of problems: one text stands for many problems.
#pragma once

#include <string>
#include <vector>

namespace lathe::lab {

/// Expands the ranges in a text and returns all texts that it stands for: `{16,32,64}`, `{1..4}`, `{16..64..16}` (a
/// step) and `{16..256*2}` (a factor); the last range varies first. Throws Error for an unclosed brace and for more
/// than 100000 texts.
std::vector<std::string> expandRanges(const std::string &text);

} // namespace lathe::lab
