#include "support/StringList.h"

#include "support/Error.h"

#include <charconv>

namespace lathe {

std::string joinStrings(std::span<const std::string> strings) {
  std::string text;
  for (const std::string &string : strings)
    text += std::to_string(string.size()) + ":" + string;
  return text;
}

std::vector<std::string> splitStrings(std::string_view text) {
  std::vector<std::string> strings;
  while (!text.empty()) {
    size_t size = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    auto digits = static_cast<size_t>(end - text.data());
    require(error == std::errc() && digits < text.size() && *end == ':' && size <= text.size() - digits - 1,
            "a list of strings is malformed, expected each string as its number of bytes, a colon and the bytes");
    strings.emplace_back(text.substr(digits + 1, size));
    text.remove_prefix(digits + 1 + size);
  }
  return strings;
}

} // namespace lathe
