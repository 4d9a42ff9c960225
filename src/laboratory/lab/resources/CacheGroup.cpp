#include "lab/resources/CacheGroup.h"

#include "machine/System.h"
#include "support/Error.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sstream>
#include <unistd.h>

namespace lathe::lab {
namespace {

std::string baseOf(const std::string &root) { return root + "/sys/fs/resctrl"; }

/// The line about L3 of a schemata file without blanks, "L3:0=7ff;1=7ff"; "" if there is none.
std::string lineOf(const std::string &schemata) {
  std::ifstream file(schemata);
  for (std::string line; std::getline(file, line);) {
    line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with("L3:"))
      return line;
  }
  return "";
}

/// The masks of a line, by the number of the cache.
std::map<int, uint64_t> masksOf(const std::string &line) {
  std::map<int, uint64_t> masks;
  std::istringstream parts(line.substr(std::min<size_t>(line.size(), 3)));
  for (std::string part; std::getline(parts, part, ';');)
    if (size_t equals = part.find('='); equals != part.npos)
      masks[std::atoi(part.c_str())] = std::strtoull(part.c_str() + equals + 1, nullptr, 16);
  return masks;
}

/// The tasks file of the calling thread's group. Kernels before 5.6 do not tell the group.
std::string tasksNow(const std::string &root) {
  std::ifstream groups(root + "/proc/thread-self/cpu_resctrl_groups");
  for (std::string line; std::getline(groups, line);)
    if (line.starts_with("res:/"))
      return fmt::format("{}/{}/tasks", baseOf(root), line.substr(5));
  return baseOf(root) + "/tasks";
}

} // namespace

CacheWays cacheWays(const std::string &root) {
  std::string base = baseOf(root), mask = firstLine(base + "/info/L3/cbm_mask");
  if (mask.empty()) {
    bool split = std::filesystem::exists(base + "/info/L3CODE");
    return {0, 1,
            split ? "resctrl is mounted with separate ways for code and data (cdp)"
                  : fmt::format("no {}/info/L3: resctrl is not mounted, or the processor cannot divide its L3", base)};
  }
  return {std::popcount(std::strtoull(mask.c_str(), nullptr, 16)),
          std::max(1, std::atoi(firstLine(base + "/info/L3/min_cbm_bits").c_str())), ""};
}

std::string CacheGroup::reasonOf(const std::string &message) const {
  std::string status = process::systemText(base + "/info/last_cmd_status");
  return status.empty() || status == "ok" ? message : fmt::format("{} ({})", message, status);
}

CacheGroup::CacheGroup(process::ChangedSystem &system, const std::string &root, int ways)
    : system(system), base(baseOf(root)), formerTasks(tasksNow(root)) {
  static std::atomic<int> made{0};
  folder = fmt::format("{}/lathe-{}-{}", base, ::getpid(), made++);
  std::map<int, uint64_t> wanted = masksOf(lineOf(base + "/schemata"));
  require(!wanted.empty(), "{}/schemata: has no line L3", base);
  std::string line = "L3:";
  for (auto &[cache, mask] : wanted) {
    mask = (uint64_t(1) << ways) - 1;
    line += fmt::format("{}{}={:x}", line.size() > 3 ? ";" : "", cache, mask);
  }
  try {
    system.makeFolder(folder);
    process::writeSystemText(folder + "/schemata", line);
  } catch (const Error &error) {
    system.undo(folder);
    fail("{}", reasonOf(error.what()));
  }
  stated = lineOf(folder + "/schemata");
  if (masksOf(stated) != wanted) {
    system.undo(folder);
    fail("{}/schemata: '{}' reads back as '{}'", folder, line, stated);
  }
}

CacheGroup::~CacheGroup() { system.undo(folder); }

void CacheGroup::enter() {
  std::string tasks = folder + "/tasks", self = std::to_string(::gettid());
  try {
    process::writeSystemText(tasks, self);
  } catch (const Error &error) {
    fail("{}", reasonOf(error.what()));
  }
  std::ifstream file(tasks);
  bool listed = false;
  for (std::string line; !listed && std::getline(file, line);)
    listed = line == self;
  require(listed, "{}: does not list thread {}, which was written", tasks, self);
}

void CacheGroup::leave() {
  try {
    process::writeSystemText(formerTasks, std::to_string(::gettid()));
  } catch (const Error &) { // its former group may be gone; the end of this group moves it to the default one
  }
}

} // namespace lathe::lab
