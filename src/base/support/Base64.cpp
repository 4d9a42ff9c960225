#include "support/Base64.h"

#include "support/Error.h"

#include <array>
#include <cstdint>

namespace lathe {

static constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string toBase64(std::span<const char> bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  char *out = text.data();
  auto write = [&](uint32_t group, size_t letters) { // of 24 bits
    for (size_t i = 0; i < letters; ++i)
      out[i] = alphabet[group >> (18 - 6 * i) & 63];
    out += letters;
  };
  auto byte = [&](size_t at) { return uint32_t(uint8_t(bytes[at])); };
  size_t at = 0;
  for (; at + 3 <= bytes.size(); at += 3)
    write(byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2), 4);
  if (size_t rest = bytes.size() - at)
    write(byte(at) << 16 | (rest == 2 ? byte(at + 1) << 8 : 0), rest + 1);
  return text;
}

std::vector<char> fromBase64(std::string_view text) {
  static const std::array<int8_t, 256> values = [] {
    std::array<int8_t, 256> table;
    table.fill(-1);
    for (size_t i = 0; i < alphabet.size(); ++i)
      table[uint8_t(alphabet[i])] = int8_t(i);
    return table;
  }();
  require(text.size() % 4 == 0, "base64: {} characters, expected a multiple of 4", text.size());
  std::vector<char> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    size_t padding = text[at + 3] != '=' ? 0 : text[at + 2] != '=' ? 1 : 2;
    require(padding == 0 || at + 4 == text.size(), "base64: padding before the end");
    uint32_t group = 0;
    for (size_t i = 0; i < 4; ++i) {
      int value = i < 4 - padding ? values[uint8_t(text[at + i])] : 0;
      require(value >= 0, "base64: unexpected character '{}'", text[at + i]);
      group = group << 6 | uint32_t(value);
    }
    for (size_t i = 0; i < 3 - padding; ++i)
      bytes.push_back(char(group >> (16 - 8 * i)));
  }
  return bytes;
}

} // namespace lathe
