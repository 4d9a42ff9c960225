#include "lab/problems/TextRanges.h"

#include "lab/problems/Problem.h"
#include "support/Error.h"

#include <algorithm>
#include <charconv>

namespace lathe::lab {

namespace {

/// The numbers of "1..4", "16..64..16" or "16..256*2", whose first dots are at `dots`; at most `most` + 1.
std::vector<std::string> numbersOf(const std::string &inner, size_t dots, size_t most) {
  std::vector<std::string> choices;
  auto whole = [&](const std::string &word) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    require(error == std::errc() && end == word.data() + word.size() && value >= 0 && value < int64_t(1) << 40,
            "'{{{}}}': '{}' is not a number", inner, word);
    return value;
  };
  std::string rest = inner.substr(dots + 2);
  size_t by = rest.find(".."), times = rest.find('*');
  int64_t low = whole(inner.substr(0, dots)), high = whole(rest.substr(0, std::min(by, times)));
  int64_t step = by != std::string::npos ? whole(rest.substr(by + 2)) : 1;
  int64_t factor = times != std::string::npos ? whole(rest.substr(times + 1)) : 1;
  require(step >= 1 && (times == std::string::npos || (factor >= 2 && low >= 1)), "'{{{}}}' never ends", inner);
  for (int64_t value = low; value <= high && choices.size() <= most;
       value = times != std::string::npos ? value * factor : value + step)
    choices.push_back(std::to_string(value));
  require(!choices.empty(), "'{{{}}}' is empty", inner);
  return choices;
}

} // namespace

std::vector<std::string> expandRanges(const std::string &text) {
  constexpr size_t most = 100000;
  size_t open = text.find('{');
  if (open == std::string::npos)
    return {text};
  size_t close = text.find('}', open);
  require(close != std::string::npos, "'{}': a brace is not closed", text);
  std::string inner = text.substr(open + 1, close - open - 1);
  size_t dots = inner.find("..");
  bool counts = dots != std::string::npos && inner.find(',') == std::string::npos;
  std::vector<std::string> choices = counts ? numbersOf(inner, dots, most) : split(inner, ',');
  std::vector<std::string> result;
  auto tails = expandRanges(text.substr(close + 1));
  require(choices.size() * tails.size() <= most, "'{}' stands for more than {} problems", text, most);
  for (auto &choice : choices)
    for (auto &tail : tails)
      result.push_back(text.substr(0, open) + choice + tail);
  return result;
}

} // namespace lathe::lab
