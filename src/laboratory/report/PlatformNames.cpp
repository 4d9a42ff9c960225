#include "report/PlatformNames.h"

#include "support/Text.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>
#include <vector>

namespace lathe::report {
namespace {

std::string shortName(const std::string &cpu) {
  static const std::regex noise(R"(\((R|r|TM|tm)\)|\b(AMD|Intel|CPU|Processor)\b|\b\d+-Core\b|@.*$|\bwith .*$)"),
      spaces("[ \t]+");
  std::string text = std::regex_replace(std::regex_replace(cpu, noise, " "), spaces, " ");
  size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(" ,");
  return begin == text.npos || end == text.npos ? cpu : text.substr(begin, end + 1 - begin);
}

/// Properties that distinguish platforms with the same processor, the most visible first.
std::vector<std::string> differences(const store::Platform &platform) {
  return {counted(platform.hardwareThreads, "thread"),
          fmt::format("{} GiB", platform.memoryBytes >> 30),
          platform.governor,
          platform.boost.empty() ? "" : "boost " + platform.boost,
          platform.hypervisor,
          platform.kernel,
          platform.compiler};
}

} // namespace

std::map<std::string, std::string> platformNames(const std::map<std::string, store::Platform> &platforms,
                                                 const store::LabelIndex &given) {
  std::map<std::string, std::string> names;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> groups; // by short name, by key
  for (auto &[key, platform] : platforms) {
    auto labels = given.find(key);
    bool named = labels != given.end() && !labels->second.name.empty();
    groups[named ? labels->second.name : shortName(platform.cpu)][key] = differences(platform);
  }
  for (auto &[name, members] : groups) {
    for (auto &[key, parts] : members)
      names[key] = name;
    auto distinct = [&] {
      std::set<std::string> found;
      for (auto &[key, parts] : members)
        found.insert(names[key]);
      return found.size();
    };
    for (size_t part = 0; distinct() < members.size() && part < members.begin()->second.size(); ++part) {
      bool differs = std::any_of(members.begin(), members.end(),
                                 [&](auto &member) { return member.second[part] != members.begin()->second[part]; });
      for (auto &[key, parts] : members)
        if (differs && !parts[part].empty())
          names[key] += ", " + parts[part];
    }
    if (distinct() < members.size())
      for (auto &[key, parts] : members)
        names[key] += fmt::format(" ({:.6})", key);
  }
  return names;
}

} // namespace lathe::report
