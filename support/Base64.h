// Bytes as text (RFC 4648, section 4: with padding).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

std::string toBase64(std::span<const char> bytes);
/// Throws Error for characters outside the alphabet and for a length or padding that no bytes have.
std::vector<char> fromBase64(std::string_view text);

} // namespace lathe
