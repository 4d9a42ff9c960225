// Encodes a list of strings in one string: each element as its number of bytes, a colon and the bytes, "2:ab0:3:cde".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

std::string joinStrings(std::span<const std::string> strings);
/// Returns the list of strings that `joinStrings` encoded. Throws Error for text of another form.
std::vector<std::string> splitStrings(std::string_view text);

} // namespace lathe
