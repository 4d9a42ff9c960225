#include "lab/problems/SyntaxParts.h"

#include "lab/problems/Problem.h"
#include "support/Error.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace lathe::lab {

Letters::Letters(const std::string &text, std::initializer_list<const char *> known) {
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '_') {
      ++at;
      continue;
    }
    if (text.compare(at, 2, "n\"") == 0) {
      size_t end = text.find('"', at + 2);
      require(end != std::string::npos, "the name is not closed");
      at = end + 1;
      continue;
    }
    size_t letters = at;
    while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])))
      ++at;
    std::string key = text.substr(letters, at - letters);
    size_t digits = at;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
      ++at;
    require(std::find(known.begin(), known.end(), key) != known.end(), "expected one of {} at '{}'",
            fmt::join(known, ", "), text.substr(letters, 12));
    require(at > digits && at - digits <= 9, "'{}' needs a number of at most nine digits", key);
    require(given.emplace(key, std::stoll(text.substr(digits, at - digits))).second, "'{}' is given twice", key);
  }
}

int64_t Letters::get(const std::string &key) const {
  auto found = given.find(key);
  require(found != given.end(), "'{}' is missing", key);
  return found->second;
}

std::vector<int64_t> dimsOf(const std::string &text) {
  std::vector<int64_t> dims;
  for (auto &word : split(text, 'x')) {
    int64_t extent = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), extent);
    require(error == std::errc() && end == word.data() + word.size() && extent >= 0,
            "'{}' is not a list of extents such as 1x64x56x56", text);
    dims.push_back(extent);
  }
  return dims;
}

std::string joined(const std::vector<int64_t> &values, const char *separator) {
  return fmt::format("{}", fmt::join(values, separator));
}

std::vector<std::string> parts(const std::string &text, size_t least, size_t most, const char *form) {
  auto result = split(text, ':');
  require(result.size() >= least && result.size() <= most, "expected {}", form);
  return result;
}

} // namespace lathe::lab
