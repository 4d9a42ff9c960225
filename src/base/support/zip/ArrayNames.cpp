#include "support/zip/ArrayNames.h"

#include "support/Text.h"

#include <fmt/format.h>

#include <set>

namespace lathe {
namespace {

constexpr size_t longest = 200; // file systems take 255, and an ending follows

/// At most `longest` bytes, cut between characters.
void shorten(std::string &text) {
  if (text.size() <= longest)
    return;
  size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  text.resize(end);
}

/// One path component. A colon is harmless in an archive, and TensorFlow's names have it: "prob:0".
std::string component(std::string_view name, bool keepColon) {
  std::string result;
  for (char c : name)
    result += c == '/' || c == '\\' || (c == ':' && !keepColon) || (c >= 0 && c < 0x20) || c == 0x7f ? '_' : c;
  if (printable(result) != result) // no UTF-8, or other control characters
    for (char &c : result)
      c = c < 0 ? '_' : c;
  shorten(result);
  return result.empty() || result == "." || result == ".." ? "_" + result : result;
}

std::string fileName(std::string_view name) { return component(name, false); }

std::string memberName(std::string_view name) {
  size_t slash = name.find('/');
  std::string first = component(name.substr(0, slash), true);
  return slash == name.npos ? first : first + "/" + memberName(name.substr(slash + 1));
}

std::vector<std::string> unique(std::span<const std::string> names, std::string (*safe)(std::string_view)) {
  std::vector<std::string> result(names.size());
  std::set<std::string> taken;
  // Names that are fine keep theirs, whatever others become.
  for (size_t i = 0; i < names.size(); ++i)
    if (std::string candidate = safe(names[i]); candidate == names[i] && taken.insert(candidate).second)
      result[i] = candidate;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string candidate = safe(names[i]), first = candidate;
    for (int number = 2; result[i].empty(); candidate = fmt::format("{}_{}", first, number++))
      if (taken.insert(candidate).second)
        result[i] = candidate;
  }
  return result;
}

} // namespace

std::vector<std::string> fileNames(std::span<const std::string> names) { return unique(names, fileName); }
std::vector<std::string> memberNames(std::span<const std::string> names) { return unique(names, memberName); }

} // namespace lathe
