// Lists of CPUs or of memory nodes in the form of the Linux kernel: "0-3,8".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Numbers of CPUs or of memory nodes, in ascending order, each once.
using NumberList = std::vector<int>;
/// Reads the form of the kernel and of taskset, "0-3,8"; "" is the empty list. Empty for another form.
std::optional<NumberList> numberList(std::string_view text);
std::string numberListText(const NumberList &numbers); // "0-3,8"
bool has(const NumberList &numbers, int number);

/// The whole of `text` as a number from 0; empty for other texts.
std::optional<int> wholeNumber(std::string_view text);

} // namespace lathe
