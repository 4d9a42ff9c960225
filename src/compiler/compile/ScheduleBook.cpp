#include "compile/ScheduleBook.h"

#include "schedule/Algorithms.h"
#include "support/Error.h"

#include <set>
#include <sstream>

namespace lathe {
namespace {

std::string trimmed(const std::string &text) {
  size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos)
    return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// A name as the value of a parameter; "" if it is missing. A name of digits alone was read as a number.
std::string nameIn(const Schedule &schedule, const char *parameter) {
  if (auto number = schedule.numbers.find(parameter); number != schedule.numbers.end())
    return std::to_string(number->second);
  auto word = schedule.words.find(parameter);
  return word == schedule.words.end() ? "" : word->second;
}

std::optional<bool> blockedIn(const Schedule &schedule, const char *parameter) {
  auto found = schedule.words.find(parameter);
  return found == schedule.words.end() ? std::nullopt : std::optional(found->second == "blocked");
}

} // namespace

ScheduleBook::Kind ScheduleBook::checked(const std::string &text) {
  Schedule schedule = readSchedule(text);
  Kind kind = schedule.algorithm == "layout"   ? layout
              : schedule.algorithm == "fuse"   ? fuse
              : schedule.algorithm == "merge"  ? merge
              : schedule.algorithm == "stream" ? stream
                                               : kernel;
  const char *const node = kind == fuse ? "with" : kind == merge ? "into" : "";
  require(!*node || !nameIn(schedule, node).empty(), "schedule '{}': expected {}=NODE", text, node);
  require(kind != layout || !schedule.words.empty(), "schedule '{}': expected in=, out= or both, each row or blocked",
          text);
  return kind;
}

ScheduleBook::ScheduleBook(const std::string &text, const std::string &fileName) : fileName(fileName) {
  std::istringstream stream(text);
  std::string raw;
  for (int number = 1; std::getline(stream, raw); ++number) {
    std::string line = trimmed(raw.substr(0, raw.find('#')));
    if (line.empty())
      continue;
    size_t colon = line.rfind(": "); // names may contain colons, schedules do not
    require(colon != std::string::npos, "{}: line {}: got '{}', expected 'kernel or node: schedule'", fileName, number,
            line);
    std::string name = trimmed(line.substr(0, colon)), schedule = trimmed(line.substr(colon + 2));
    Kind kind = kernel;
    try {
      kind = checked(schedule);
    } catch (const Error &error) {
      fail("{}: line {}: {}", fileName, number, error.what());
    }
    auto [it, added] = lines[kind].try_emplace(name, Line{schedule, number});
    require(added, "{}: line {}: '{}' has one already on line {}", fileName, number, name, it->second.number);
  }
}

ScheduleBook::Line *ScheduleBook::take(Kind kind, const std::string &name) {
  auto found = lines[kind].find(name);
  if (found == lines[kind].end())
    return nullptr;
  found->second.used = true;
  return &found->second;
}

const ScheduleBook::Line *ScheduleBook::lineOf(const std::string &name, const std::vector<std::string> &nodes) const {
  auto found = lines[kernel].find(name);
  for (size_t i = 0; found == lines[kernel].end() && i < nodes.size(); ++i)
    found = lines[kernel].find(nodes[i]);
  return found == lines[kernel].end() ? nullptr : &found->second;
}

Outcome<FoundSchedule> ScheduleBook::find(const ScheduleTask &task) const {
  const Line *line = lineOf(task.kernel, task.nodes);
  if (!line)
    return NotApplicable{fmt::format("{} has no line for the kernel", fileName)};
  return FoundSchedule{readSchedule(line->schedule), fmt::format("{}, line {}", fileName, line->number), true};
}

std::optional<Schedule> ScheduleBook::scheduleOf(const std::string &name) const {
  const Line *line = lineOf(name, {});
  return line ? std::optional(readSchedule(line->schedule)) : std::nullopt;
}

void ScheduleBook::use(const std::string &name, const std::vector<std::string> &nodes) {
  bool found = take(kernel, name);
  for (size_t i = 0; !found && i < nodes.size(); ++i)
    found = take(kernel, nodes[i]);
}

ScheduleBook::Line *ScheduleBook::takeLast(Kind kind, const std::vector<std::string> &nodes) {
  Line *line = nullptr;
  for (size_t i = nodes.size(); !line && i-- > 0;)
    line = take(kind, nodes[i]);
  return line;
}

std::optional<std::string> ScheduleBook::mergedInto(const std::vector<std::string> &nodes) {
  Line *line = takeLast(merge, nodes);
  return line ? std::optional(nameIn(Schedule::parse(line->schedule), "into")) : std::nullopt;
}

GraphChoice ScheduleBook::graphChoice(const std::vector<std::string> &nodes) {
  GraphChoice choice;
  if (Line *line = takeLast(layout, nodes)) {
    Schedule schedule = Schedule::parse(line->schedule);
    choice.blockedInput = blockedIn(schedule, "in");
    choice.blockedOutput = blockedIn(schedule, "out");
  }
  if (Line *line = takeLast(fuse, nodes))
    choice.kernelOf = nameIn(Schedule::parse(line->schedule), "with");
  return choice;
}

std::optional<StreamLine> ScheduleBook::streamOf(const std::vector<std::string> &names) {
  Line *line = nullptr;
  for (size_t i = 0; !line && i < names.size(); ++i)
    line = take(stream, names[i]);
  if (!line)
    return std::nullopt;
  Schedule schedule = Schedule::parse(line->schedule);
  auto number = [&](const char *name, int64_t standard) {
    auto found = schedule.numbers.find(name);
    return found == schedule.numbers.end() ? standard : found->second;
  };
  return StreamLine{number("order", -1), number("first", 0), number("slots", 0),
                    fmt::format("{}: line {}", fileName, line->number)};
}

void ScheduleBook::requireAllUsed() const {
  for (const auto &kind : lines)
    for (const auto &[name, line] : kind) {
      bool ofKernel = &kind == &lines[kernel];
      if (auto whole = inside.find(name); ofKernel && !line.used && whole != inside.end())
        fail("{}: line {}: '{}' is computed in the kernel '{}': expected '{}: separable/1 ...', or no line that asks "
             "for "
             "one kernel",
             fileName, line.number, name, whole->second, whole->second);
      require(line.used, "{}: line {}: no {} is called '{}'", fileName, line.number,
              ofKernel || &kind == &lines[stream] ? "kernel or node" : "operator with this choice", name);
    }
}

std::string graphScheduleText(const std::vector<PipelineReport::Layouts> &layouts,
                              const std::vector<PipelineReport::Fusion> &fusions,
                              const std::vector<PipelineReport::Merge> &merges) {
  std::string text;
  // Lists one choice for each name. Leaves out a name whose operators have different choices.
  auto list = [&](const char *title, auto &&choices, auto &&nameOf, auto &&textOf) {
    std::map<std::string, std::set<std::string>> all;
    for (const auto &choice : choices)
      all[nameOf(choice)].insert(textOf(choice));
    text += fmt::format("# {}\n", title);
    for (const auto &choice : choices)
      if (auto found = all.find(nameOf(choice)); found != all.end()) {
        if (found->second.size() == 1 && canBeListed(found->first))
          text += fmt::format("{}: {}\n", found->first, *found->second.begin());
        all.erase(found);
      }
  };
  auto layoutName = [](bool blocked) { return blocked ? "blocked" : "row"; };
  list(
      "layouts", layouts, [](const auto &choice) { return choice.node; },
      [&](const auto &choice) {
        return fmt::format("layout/1 in={} out={}", layoutName(choice.blockedInput), layoutName(choice.blockedOutput));
      });
  std::vector<PipelineReport::Fusion> listed;
  for (const PipelineReport::Fusion &fusion : fusions)
    if (canBeListed(fusion.anchor))
      listed.push_back(fusion);
  list(
      "fusion", listed, [](const auto &choice) { return choice.node; },
      [](const auto &choice) { return fmt::format("fuse/1 with={}", choice.anchor); });
  if (!merges.empty())
    text += "# merges\n";
  for (const PipelineReport::Merge &one : merges)
    for (size_t i = 1; i < one.nodes.size(); ++i)
      if (canBeListed(one.nodes[i]) && canBeListed(one.nodes.front()))
        text += fmt::format("{}: merge/1 into={}\n", one.nodes[i], one.nodes.front());
  return text;
}

} // namespace lathe
