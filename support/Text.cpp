#include "support/Text.h"

#include <fmt/format.h>

namespace lathe {
namespace {

/// Length of the valid UTF-8 sequence that begins `text` and is no C1 control character; 0 where there is none.
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
  return control || surrogate || point < least[length] || point > 0x10ffff ? 0 : length;
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

} // namespace lathe
