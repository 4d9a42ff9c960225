// Text for messages and tables: counted nouns, and strings that a terminal can show safely.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// A counted noun: "1 operator", "3 operators", "0 operators". Give `plural` for nouns with an irregular plural.
std::string counted(int64_t count, std::string_view noun, std::string_view plural = "");

/// Returns `text` with control characters (escape sequences, line ends, tabs) and invalid UTF-8
/// written as \n, \t or \xNN. Names in models and files are untrusted, and a terminal must not
/// interpret them.
std::string printable(std::string_view text);

/// A hint for a misspelt name: " (did you mean 'grain'?)" with the candidate that has the smallest edit distance to
/// `name`; "" if no candidate is near.
std::string suggestion(std::string_view name, const std::vector<std::string> &candidates);

/// A list of words as text: "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string> &items, std::string_view conjunction = "and");

} // namespace lathe
