#include "lab/machine/CpusOfBoth.h"

#include <algorithm>
#include <array>
#include <set>

namespace lathe::lab {
namespace {

constexpr std::array<std::string_view, 4> places = {"core", "cache", "socket", "machine"};

/// The first CPU of each core, and then the others.
std::vector<LogicalCpu> coresFirst(const std::vector<LogicalCpu> &cpus) {
  std::vector<LogicalCpu> first, later;
  std::set<NumberList> seen;
  for (const LogicalCpu &cpu : cpus)
    (seen.insert(cpu.siblings).second ? first : later).push_back(cpu);
  first.insert(first.end(), later.begin(), later.end());
  return first;
}

/// The index in `places` of the place that a CPU shares with the closest of `with`.
size_t placeNumber(const LogicalCpu &cpu, const std::vector<LogicalCpu> &with) {
  auto shares = [&](auto LogicalCpu::*hardware) {
    return std::any_of(with.begin(), with.end(), [&](const LogicalCpu &one) { return one.*hardware == cpu.*hardware; });
  };
  return shares(&LogicalCpu::siblings)                              ? 0
         : !cpu.cacheCpus.empty() && shares(&LogicalCpu::cacheCpus) ? 1
         : shares(&LogicalCpu::package)                             ? 2
                                                                    : 3;
}

/// The CPUs that share `place`, and nothing closer, with the CPUs of `with`.
std::vector<LogicalCpu> candidates(const std::vector<LogicalCpu> &cpus, const std::vector<LogicalCpu> &with,
                                   std::string_view place) {
  std::vector<LogicalCpu> found;
  for (const LogicalCpu &cpu : coresFirst(cpus))
    if (std::none_of(with.begin(), with.end(), [&](const LogicalCpu &one) { return one.number == cpu.number; }) &&
        places[placeNumber(cpu, with)] == place)
      found.push_back(cpu);
  return found;
}

} // namespace

std::span<const std::string_view> placeNames() { return places; }

std::string closestPlace(const Topology &machine, const NumberList &some, const NumberList &others) {
  auto found = [&](const NumberList &numbers) {
    std::vector<LogicalCpu> cpus;
    for (int number : numbers)
      if (const LogicalCpu *cpu = machine.find(number))
        cpus.push_back(*cpu);
    return cpus;
  };
  std::vector<LogicalCpu> with = found(others);
  size_t closest = places.size() - 1;
  for (const LogicalCpu &cpu : found(some))
    closest = std::min(closest, placeNumber(cpu, with));
  return std::string(places[closest]);
}

Outcome<CpusOfBoth> cpusOfBoth(const Topology &machine, int measuredThreads, int besideThreads,
                               const std::string &place) {
  std::vector<LogicalCpu> cpus;
  for (const LogicalCpu &cpu : machine.cpus)
    if (has(machine.allowedCpus, cpu.number))
      cpus.push_back(cpu);
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

} // namespace lathe::lab
