#include "support/Text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace lathe {
namespace {

/// True for a character that changes the direction of the text around it (Unicode's Bidi_Control), and for the separators of
/// lines and paragraphs.
bool changesLayout(uint32_t point) {
  return point == 0x61c || (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

/// Length of the valid UTF-8 sequence at the beginning of `text`; 0 if there is none, and if the character is a C1
/// control character or changes the layout.
size_t sequenceLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(0);
  size_t length = lead < 0x80 ? 1 : (lead >> 5) == 6 ? 2 : (lead >> 4) == 14 ? 3 : (lead >> 3) == 30 ? 4 : 0;
  if (length == 0 || text.size() < length)
    return 0;
  uint32_t point = length == 1 ? lead : lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
    point = point << 6 | (byte(i) & 0x3f);
  }
  static constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool control = point < 0x20 || (point >= 0x7f && point < 0xa0);
  bool surrogate = point >= 0xd800 && point < 0xe000;
  return control || changesLayout(point) || surrogate || point < least[length] || point > 0x10ffff ? 0 : length;
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> beforeLast, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], beforeLast[j - 2] + 1);
    }
    beforeLast = last;
    std::swap(last, row);
  }
  return last.back();
}

} // namespace

std::string counted(int64_t count, std::string_view noun, std::string_view plural) {
  if (count == 1)
    return fmt::format("1 {}", noun);
  return plural.empty() ? fmt::format("{} {}s", count, noun) : fmt::format("{} {}", count, plural);
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    size_t length = sequenceLength(text);
    if (length) {
      result += text.substr(0, length);
    } else {
      length = 1;
      unsigned char byte = static_cast<unsigned char>(text[0]);
      result += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : byte == '\r' ? "\\r" : fmt::format("\\x{:02x}", byte);
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string suggestion(std::string_view name, const std::vector<std::string> &candidates) {
  constexpr size_t longest = 200; // the distance takes quadratic time
  if (name.size() > longest)
    return "";
  const std::string *nearest = nullptr;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string &candidate : candidates)
    if (candidate.size() <= longest)
      if (size_t distance = editDistance(name, candidate); distance < least && distance < candidate.size()) {
        least = distance;
        nearest = &candidate;
      }
  return nearest ? fmt::format(" (did you mean '{}'?)", *nearest) : "";
}

std::string listed(const std::vector<std::string> &items, std::string_view conjunction) {
  std::string result;
  for (size_t i = 0; i < items.size(); ++i)
    result += (i == 0 ? "" : i + 1 < items.size() ? ", " : fmt::format(" {} ", conjunction)) + items[i];
  return result;
}

} // namespace lathe
