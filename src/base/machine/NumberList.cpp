#include "machine/NumberList.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <set>

namespace lathe {

std::optional<int> wholeNumber(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return whole ? std::optional(value) : std::nullopt;
}

std::optional<NumberList> numberList(std::string_view text) {
  constexpr int most = 1 << 16; // more than any kernel counts
  std::set<int> numbers;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    bool another = part.size() < text.size();
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    size_t dash = part.find('-');
    std::optional<int> first = wholeNumber(part.substr(0, dash));
    std::optional<int> last = dash == part.npos ? first : wholeNumber(part.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= most || (another && text.empty()))
      return std::nullopt;
    for (int number = *first; number <= *last; ++number)
      numbers.insert(number);
  }
  return NumberList(numbers.begin(), numbers.end());
}

std::string numberListText(const NumberList &numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i)
      text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

bool has(const NumberList &numbers, int number) { return std::binary_search(numbers.begin(), numbers.end(), number); }

} // namespace lathe
