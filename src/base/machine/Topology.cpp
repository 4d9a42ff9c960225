#include "machine/Topology.h"

#include "machine/System.h"
#include "support/Error.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace lathe {
namespace {

NumberList listIn(const std::string &file) { return numberList(firstLine(file)).value_or(NumberList()); }

/// Finds the last-level cache of a CPU, whose folder is `folder`.
void readCache(LogicalCpu &cpu, const std::string &folder) {
  int last = 0;
  std::error_code ignored;
  for (auto &entry : std::filesystem::directory_iterator(folder + "/cache", ignored)) {
    std::string path = entry.path().string(), type = firstLine(path + "/type");
    int level = wholeNumber(firstLine(path + "/level")).value_or(0);
    if (level <= last || (type != "Data" && type != "Unified"))
      continue;
    last = level;
    cpu.cacheName = fmt::format("L{}", level);
    cpu.cacheCpus = listIn(path + "/shared_cpu_list");
    cpu.cacheBytes = sizeOfCache(firstLine(path + "/size"));
  }
}

/// Sets the kinds of cores: by the lists of hybrid x86 processors, otherwise by the capacities that Arm machines state.
void readKinds(Topology &machine) {
  std::string devices = machine.root + "/sys/devices/";
  NumberList performance = listIn(devices + "cpu_core/cpus"), efficiency = listIn(devices + "cpu_atom/cpus");
  if (!performance.empty() && !efficiency.empty()) {
    for (LogicalCpu &cpu : machine.cpus)
      cpu.kind = has(performance, cpu.number)  ? CoreKind::performance
                 : has(efficiency, cpu.number) ? CoreKind::efficiency
                                               : CoreKind::between;
    return;
  }
  std::vector<int> capacities;
  for (const LogicalCpu &cpu : machine.cpus)
    capacities.push_back(
        wholeNumber(firstLine(fmt::format("{}system/cpu/cpu{}/cpu_capacity", devices, cpu.number))).value_or(0));
  if (capacities.empty())
    return;
  auto [least, most] = std::minmax_element(capacities.begin(), capacities.end());
  if (*least == *most || *least == 0)
    return;
  for (size_t i = 0; i < capacities.size(); ++i)
    machine.cpus[i].kind = capacities[i] == *most    ? CoreKind::performance
                           : capacities[i] == *least ? CoreKind::efficiency
                                                     : CoreKind::between;
}

void readNodes(Topology &machine) {
  std::string folder = machine.root + "/sys/devices/system/node/";
  std::string withMemory = firstLine(folder + "has_memory");
  NumberList memory = numberList(withMemory).value_or(NumberList());
  for (int node : listIn(folder + "online")) {
    NumberList cpus = listIn(fmt::format("{}node{}/cpulist", folder, node));
    for (LogicalCpu &cpu : machine.cpus)
      if (has(cpus, cpu.number))
        cpu.node = node;
    if (withMemory.empty() || has(memory, node))
      machine.nodes[node] = cpus;
  }
}

void readAllowed(Topology &machine) {
  std::ifstream status(machine.root + "/proc/thread-self/status");
  auto take = [](const std::string &line, std::string_view field, NumberList &into) {
    if (!line.starts_with(field))
      return;
    std::string value = line.substr(field.size());
    into = numberList(value.substr(std::min(value.find_first_not_of(" \t"), value.size()))).value_or(NumberList());
  };
  for (std::string line; std::getline(status, line);) {
    take(line, "Cpus_allowed_list:", machine.allowedCpus);
    take(line, "Mems_allowed_list:", machine.allowedNodes);
  }
  std::erase_if(machine.allowedCpus, [&](int cpu) { return !machine.find(cpu); });
}

/// One part of a selection: keeps those of `candidates` that it selects.
class Part {
public:
  Part(const Topology &machine, const std::string &whole, const std::string &part)
      : machine(machine), whole(whole), part(part) {}

  NumberList of(const NumberList &candidates) const {
    if (part == "performance" || part == "efficiency")
      return ofKind(candidates, part == "performance" ? CoreKind::performance : CoreKind::efficiency);
    if (part == "one-per-core")
      return onePerCore(candidates);
    if (part.starts_with("node:"))
      return ofNumber(candidates, "memory node", [](const LogicalCpu &cpu) { return cpu.node; });
    if (part.starts_with("package:"))
      return ofNumber(candidates, "package", [](const LogicalCpu &cpu) { return std::optional(cpu.package); });
    return ofList(candidates);
  }

private:
  const Topology &machine;
  const std::string &whole, part;

  template <class... Args> [[noreturn]] void refuse(fmt::format_string<Args...> format, Args &&...args) const {
    fail("--cpus {}: {}", whole, fmt::format(format, std::forward<Args>(args)...));
  }

  NumberList kept(const NumberList &candidates, const auto &wanted) const {
    NumberList chosen;
    for (int number : candidates)
      if (wanted(*machine.find(number)))
        chosen.push_back(number);
    return chosen;
  }

  NumberList ofKind(const NumberList &candidates, CoreKind kind) const {
    if (machine.cpus.front().kind == CoreKind::only)
      refuse("this machine has one kind of core, as far as its kernel says");
    return kept(candidates, [&](const LogicalCpu &cpu) { return cpu.kind == kind; });
  }

  NumberList onePerCore(const NumberList &candidates) const {
    std::set<int> covered;
    return kept(candidates, [&](const LogicalCpu &cpu) {
      bool first = !covered.count(cpu.number);
      covered.insert(cpu.siblings.begin(), cpu.siblings.end());
      return first;
    });
  }

  NumberList ofNumber(const NumberList &candidates, const char *what, const auto &placeOf) const {
    std::optional<int> wanted = wholeNumber(std::string_view(part).substr(part.find(':') + 1));
    std::set<int> known;
    for (const LogicalCpu &cpu : machine.cpus)
      if (std::optional<int> place = placeOf(cpu))
        known.insert(*place);
    if (!wanted || !known.count(*wanted))
      refuse("expected a {} of this machine ({}), got '{}'", what,
             known.empty() ? "its kernel states none" : numberListText({known.begin(), known.end()}),
             part.substr(part.find(':') + 1));
    return kept(candidates, [&](const LogicalCpu &cpu) { return placeOf(cpu) == wanted; });
  }

  NumberList ofList(const NumberList &candidates) const {
    std::optional<NumberList> listed = numberList(part);
    if (!listed || listed->empty())
      refuse("expected CPUs as 0-3,8, performance, efficiency, one-per-core, node:N or package:N, got '{}'", part);
    for (int number : *listed) {
      if (!machine.find(number))
        refuse("this machine has no CPU {}; online: {}", number, onlineText());
      if (!has(machine.allowedCpus, number))
        refuse("this process may not use CPU {}; it may use {} (taskset, or the cpuset of a container)", number,
               numberListText(machine.allowedCpus));
    }
    return kept(candidates, [&](const LogicalCpu &cpu) { return has(*listed, cpu.number); });
  }

  std::string onlineText() const {
    NumberList online;
    for (const LogicalCpu &cpu : machine.cpus)
      online.push_back(cpu.number);
    return numberListText(online);
  }
};

} // namespace

std::string systemRoot() {
  const char *given = std::getenv("LATHE_SYSTEM_ROOT");
  return given ? given : "";
}

const LogicalCpu *Topology::find(int number) const {
  auto found = std::find_if(cpus.begin(), cpus.end(), [&](const LogicalCpu &cpu) { return cpu.number == number; });
  return found == cpus.end() ? nullptr : &*found;
}

Topology readTopology(const std::string &root) {
  Topology machine;
  machine.root = root;
  std::string folder = root + kernelCpus;
  for (int number : listIn(folder + "/online")) {
    LogicalCpu &cpu = machine.cpus.emplace_back();
    std::string own = fmt::format("{}/cpu{}", folder, number);
    cpu.number = number;
    cpu.package = wholeNumber(firstLine(own + "/topology/physical_package_id")).value_or(0);
    cpu.siblings = listIn(own + "/topology/thread_siblings_list");
    if (cpu.siblings.empty())
      cpu.siblings = {number};
    readCache(cpu, own);
  }
  readKinds(machine);
  readNodes(machine);
  readAllowed(machine);
  return machine;
}

NumberList selectCpus(const Topology &machine, const std::string &text) {
  require(!machine.cpus.empty() && !machine.allowedCpus.empty(), "--cpus {}: this system does not list its CPUs ({}{})",
          text, machine.root, kernelCpus);
  NumberList chosen = machine.allowedCpus;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('+', begin), text.size());
    chosen = Part(machine, text, text.substr(begin, end - begin)).of(chosen);
    begin = end + 1;
  }
  require(!chosen.empty(), "--cpus {}: none of the CPUs that this process may use ({}) is selected", text,
          numberListText(machine.allowedCpus));
  return chosen;
}

} // namespace lathe
