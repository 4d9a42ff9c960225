#include "cli/print/GroupedWarnings.h"

#include <fmt/format.h>

#include <map>

namespace lathe::cli {
namespace {

bool isNumber(char c) { return (c >= '0' && c <= '9') || c == '.'; }

/// The text with all numbers replaced by the same mark.
std::string withoutNumbers(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i)
    if (!isNumber(text[i]))
      result += text[i];
    else if (i == 0 || !isNumber(text[i - 1]))
      result += '#';
  return result;
}

struct Group {
  std::string text, place;              // of the first warning
  const PlacedWarnings *last = nullptr; // last part with this warning
  size_t parts = 0;
  bool same = true; // the numbers are equal, too
};

} // namespace

std::vector<std::string> groupedWarnings(const std::vector<PlacedWarnings> &parts) {
  std::vector<Group> groups;
  std::map<std::string, size_t> known;
  for (const PlacedWarnings &part : parts)
    for (const std::string &warning : part.warnings) {
      auto [at, isNew] = known.try_emplace(withoutNumbers(warning), groups.size());
      if (isNew)
        groups.push_back({.text = warning, .place = part.place});
      Group &group = groups[at->second];
      group.parts += group.last != &part; // both sides of a part may have it
      group.last = &part;
      group.same &= warning == group.text;
    }
  std::vector<std::string> lines;
  for (const Group &group : groups) {
    std::string where = group.place;
    if (group.parts > 1) {
      where = fmt::format("{} of {} parts", group.parts, parts.size());
      if (!group.same || group.parts < parts.size())
        where += fmt::format(", first {}", group.place);
    }
    lines.push_back(fmt::format("{}: {}", where, group.text));
  }
  return lines;
}

} // namespace lathe::cli
