// Base64 with padding (RFC 4648, section 4).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

std::string toBase64(std::span<const char> bytes);
/// Decodes base64 text. Throws Error for a character outside the alphabet and for an impossible length or padding.
std::vector<char> fromBase64(std::string_view text);

} // namespace lathe
