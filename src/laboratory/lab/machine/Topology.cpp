#include "lab/machine/Topology.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>

namespace lathe::lab {
namespace {

constexpr std::array<std::string_view, 4> places = {"core", "cache", "socket", "machine"};

std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The list of CPUs at the last-level cache of a CPU; "" if the kernel says nothing.
std::string lastLevelOf(const std::string &cpu) {
  std::string shared;
  int highest = 0;
  for (int index = 0;; ++index) {
    std::string cache = fmt::format("{}/cache/index{}/", cpu, index);
    int level = std::atoi(firstLine(cache + "level").c_str());
    if (level == 0)
      return shared;
    if (level > highest) {
      highest = level;
      shared = firstLine(cache + "shared_cpu_list");
    }
  }
}

/// The first CPU of each core, and then the others.
std::vector<LogicalCpu> coresFirst(const std::vector<LogicalCpu> &cpus) {
  std::vector<LogicalCpu> first, later;
  std::set<std::string> seen;
  for (const LogicalCpu &cpu : cpus)
    (seen.insert(cpu.core).second ? first : later).push_back(cpu);
  first.insert(first.end(), later.begin(), later.end());
  return first;
}

/// The CPUs that share `place`, and nothing closer, with the CPUs of `with`.
std::vector<LogicalCpu> candidates(const std::vector<LogicalCpu> &cpus, const std::vector<LogicalCpu> &with,
                                   std::string_view place) {
  auto shares = [&](const LogicalCpu &cpu, std::string LogicalCpu::*hardware) {
    return std::any_of(with.begin(), with.end(), [&](const LogicalCpu &one) { return one.*hardware == cpu.*hardware; });
  };
  auto placeOf = [&](const LogicalCpu &cpu) {
    return shares(cpu, &LogicalCpu::core)     ? places[0]
           : shares(cpu, &LogicalCpu::cache)  ? places[1]
           : shares(cpu, &LogicalCpu::socket) ? places[2]
                                              : places[3];
  };
  std::vector<LogicalCpu> found;
  for (const LogicalCpu &cpu : coresFirst(cpus))
    if (std::none_of(with.begin(), with.end(), [&](const LogicalCpu &one) { return one.number == cpu.number; }) &&
        placeOf(cpu) == place)
      found.push_back(cpu);
  return found;
}

} // namespace

std::vector<LogicalCpu> usableCpus(const std::string &cpus) {
  std::vector<LogicalCpu> result;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return result;
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (!CPU_ISSET(number, &allowed))
      continue;
    std::string folder = fmt::format("{}/cpu{}", cpus, number), alone = fmt::format("{}", number);
    auto known = [&](const std::string &text) { return text.empty() ? alone : text; };
    std::string socket = firstLine(folder + "/topology/physical_package_id");
    result.push_back({number, known(firstLine(folder + "/topology/thread_siblings_list")), known(lastLevelOf(folder)),
                      socket.empty() ? "0" : socket});
  }
  return result;
}

std::span<const std::string_view> placeNames() { return places; }

Outcome<CpusOfBoth> cpusOfBoth(const std::vector<LogicalCpu> &cpus, int measuredThreads, int besideThreads,
                               const std::string &place) {
  auto measured = coresFirst(cpus);
  if (measured.size() < size_t(measuredThreads) + size_t(besideThreads))
    return NotApplicable{fmt::format("{} and {} threads beside each other need as many CPUs, this process may use {}",
                                     measuredThreads, besideThreads, cpus.size())};
  measured.resize(size_t(measuredThreads));
  std::string found;
  for (std::string_view each : {places[1], places[2], places[3], places[0]}) {
    if (place != "any" && place != each)
      continue;
    auto beside = candidates(cpus, measured, each);
    if (beside.size() < size_t(besideThreads)) {
      found += fmt::format("{}{} for {}", found.empty() ? "" : ", ", beside.size(), each);
      continue;
    }
    CpusOfBoth both{{}, {}, std::string(each)};
    for (const LogicalCpu &cpu : measured)
      both.measured.push_back(cpu.number);
    for (int i = 0; i < besideThreads; ++i)
      both.beside.push_back(beside[size_t(i)].number);
    return both;
  }
  return NotApplicable{
      fmt::format("too few CPUs beside those of the measured side: {}; expected {}", found, besideThreads)};
}

BoundToCpus::BoundToCpus(const std::vector<int> &cpus) {
  if (cpus.empty())
    return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus)
    CPU_SET(cpu, &set);
  CPU_ZERO(&before);
  bound = ::sched_getaffinity(0, sizeof before, &before) == 0;
  require(bound && ::sched_setaffinity(0, sizeof set, &set) == 0, "cannot bind to CPUs {}: {}", fmt::join(cpus, ","),
          std::strerror(errno));
}

BoundToCpus::~BoundToCpus() {
  if (bound)
    ::sched_setaffinity(0, sizeof before, &before);
}

} // namespace lathe::lab
