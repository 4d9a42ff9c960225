#include "compile/ScheduleBook.h"

#include "schedule/Schedule.h"
#include "support/Error.h"

#include <sstream>

namespace lathe {
namespace {
std::string trimmed(const std::string &text) {
  size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos)
    return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}
} // namespace

ScheduleBook::ScheduleBook(const std::string &text, const std::string &fileName) : fileName(fileName) {
  std::istringstream stream(text);
  std::string raw;
  for (int number = 1; std::getline(stream, raw); ++number) {
    std::string line = trimmed(raw.substr(0, raw.find('#')));
    if (line.empty())
      continue;
    size_t colon = line.rfind(": "); // names may contain colons, schedules do not
    require(colon != std::string::npos, "{}: line {}: got '{}', expected 'kernel or node: schedule'", fileName, number, line);
    std::string name = trimmed(line.substr(0, colon)), schedule = trimmed(line.substr(colon + 2));
    try {
      Schedule::parse(schedule);
    } catch (const Error &error) {
      fail("{}: line {}: {}", fileName, number, error.what());
    }
    auto [it, added] = lines.try_emplace(name, Line{schedule, number});
    require(added, "{}: line {}: '{}' has a schedule already on line {}", fileName, number, name, it->second.number);
  }
}

std::optional<std::string> ScheduleBook::find(const std::string &name, const std::vector<std::string> &nodes) {
  auto take = [&](const std::string &key) -> Line * {
    auto found = lines.find(key);
    return found == lines.end() ? nullptr : &found->second;
  };
  Line *line = take(name);
  for (size_t i = 0; !line && i < nodes.size(); ++i)
    line = take(nodes[i]);
  if (!line)
    return std::nullopt;
  line->used = true;
  return line->schedule;
}

void ScheduleBook::requireAllUsed() const {
  for (const auto &[name, line] : lines)
    require(line.used, "{}: line {}: no kernel or node is called '{}'", fileName, line.number, name);
}

} // namespace lathe
