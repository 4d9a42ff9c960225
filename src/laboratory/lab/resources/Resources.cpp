#include "lab/resources/Resources.h"

#include "lab/resources/CacheGroup.h"
#include "lab/resources/FrequencyCap.h"
#include "support/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/ranges.h>
#include <optional>

namespace lathe::lab {
namespace {

/// Splits "2.4GHz" into a positive number and a unit. Empty for another form.
std::optional<std::pair<double, std::string>> quantityOf(const std::string &text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value) || value <= 0)
    return std::nullopt;
  return std::pair(value, std::string(static_cast<const char *>(end), text.data() + text.size()));
}

void resolveNode(Resources &resources, const Topology &machine) {
  const std::string &text = resources.request.memoryNode;
  std::optional<int> node = wholeNumber(text);
  require(node.has_value(), "--memory-node {}: expected the number of a memory node", text);
  require(!machine.nodes.empty(),
          "--memory-node {}: this kernel has no memory nodes (NUMA): no {}/sys/devices/system/node", text,
          machine.root);
  NumberList known;
  for (const auto &[number, cpus] : machine.nodes)
    known.push_back(number);
  require(has(known, *node), "--memory-node {}: expected a node of this machine with memory ({})", text,
          numberListText(known));
  require(has(machine.allowedNodes, *node),
          "--memory-node {}: this process may not use it; it may use {} (numactl, or the cpuset of a container)", text,
          numberListText(machine.allowedNodes));
  resources.memoryNode = *node;
}

void resolveFrequency(Resources &resources, const Topology &machine) {
  const std::string &text = resources.request.frequencyCap;
  auto quantity = quantityOf(text);
  double unit = !quantity ? 0 : quantity->second == "GHz" ? 1e6 : quantity->second == "MHz" ? 1e3 : 0;
  require(unit > 0, "--frequency-cap {}: expected a frequency, as 2GHz or 1800MHz", text);
  resources.frequencyKhz = std::llround(quantity->first * unit);
  FrequencyRange range;
  try {
    range = frequencyRange(machine.root, resources.cpus);
  } catch (const Error &error) {
    fail("--frequency-cap {}: {}", text, error.what());
  }
  require(resources.frequencyKhz >= range.least && resources.frequencyKhz <= range.most,
          "--frequency-cap {}: expected a frequency of the CPUs {}, from {:g} to {:g} MHz", text,
          numberListText(resources.cpus), double(range.least) / 1e3, double(range.most) / 1e3);
}

/// The first CPU that shares the last-level cache of `cpu` and no core with a CPU of the measurement.
std::optional<int> companionCpu(const Resources &resources, const Topology &machine, const LogicalCpu &cpu) {
  for (int number : machine.allowedCpus) {
    const NumberList &siblings = machine.find(number)->siblings;
    bool free = std::none_of(siblings.begin(), siblings.end(), [&](int one) { return has(resources.cpus, one); });
    if (free && has(cpu.cacheCpus, number))
      return number;
  }
  return std::nullopt;
}

/// Chooses a companion for every last-level cache that the measurement uses.
void resolveCompanions(Resources &resources, const Topology &machine, double share, const std::string &why) {
  const std::string &text = resources.request.cacheShare;
  require(!resources.request.cpus.empty(),
          "--cache-share {}: {}. A companion could occupy the rest of the cache, on a CPU that the measurement leaves "
          "free: give --cpus, too",
          text, why);
  NumberList covered;
  for (int number : resources.cpus) {
    const LogicalCpu &cpu = *machine.find(number);
    require(!cpu.cacheCpus.empty() && cpu.cacheBytes > 0,
            "--cache-share {}: {}. No companion either: the kernel does not tell the caches of CPU {}", text, why,
            number);
    if (has(covered, cpu.cacheCpus.front()))
      continue;
    std::optional<int> free = companionCpu(resources, machine, cpu);
    require(free.has_value(),
            "--cache-share {}: {}. No companion either: the measurement leaves no core free of those that share its {} "
            "(CPUs {}) and that this process may use ({})",
            text, why, cpu.cacheName, numberListText(cpu.cacheCpus), numberListText(machine.allowedCpus));
    covered.push_back(cpu.cacheCpus.front());
    std::sort(covered.begin(), covered.end());
    resources.cacheName = cpu.cacheName;
    resources.companions.push_back({*free, std::llround(double(cpu.cacheBytes) * (1 - share)), cpu.cacheBytes});
  }
}

void resolveCache(Resources &resources, const Topology &machine) {
  const std::string &text = resources.request.cacheShare;
  auto quantity = quantityOf(text);
  bool percent = quantity && quantity->second == "%" && quantity->first < 100;
  bool ways = quantity && quantity->second == "ways" && quantity->first == std::floor(quantity->first);
  require(percent || ways, "--cache-share {}: expected a share of the last-level cache below 100%, as 50%, or 4ways",
          text);
  CacheWays cache = cacheWays(machine.root);
  if (cache.reason.empty()) {
    double wanted = percent ? std::round(quantity->first / 100 * cache.all) : quantity->first;
    require(wanted >= cache.least && wanted <= cache.all,
            "--cache-share {}: is {:g} of the {} ways of the L3, expected at least {}", text, wanted, cache.all,
            cache.least);
    resources.ways = int(wanted);
    resources.waysInAll = cache.all;
    resources.cacheName = "L3";
    return;
  }
  require(percent, "--cache-share {}: {}, so that no ways can be given away; expected a per cent", text, cache.reason);
  resolveCompanions(resources, machine, quantity->first / 100, cache.reason);
}

} // namespace

std::vector<std::string> ResourceRequest::arguments() const {
  std::vector<std::string> words;
  for (auto &[flag, value] : {std::pair("--cpus", &cpus), std::pair("--memory-node", &memoryNode),
                              std::pair("--frequency-cap", &frequencyCap), std::pair("--cache-share", &cacheShare)})
    if (!value->empty())
      words.insert(words.end(), {flag, *value});
  return words;
}

std::string Resources::text() const {
  std::vector<std::string> parts;
  if (!request.cpus.empty()) {
    std::string list = numberListText(cpus);
    parts.push_back(list == request.cpus ? "cpus " + list : fmt::format("cpus {} ({})", request.cpus, list));
  }
  if (memoryNode >= 0)
    parts.push_back(fmt::format("memory node {}", memoryNode));
  if (frequencyKhz)
    parts.push_back(fmt::format("at most {:g} MHz", double(frequencyKhz) / 1e3));
  if (ways)
    parts.push_back(fmt::format("{} of {} ways of {}", ways, waysInAll, cacheName));
  for (const Companion &one : companions)
    parts.push_back(fmt::format("companion on CPU {} in {:g} of {:g} MiB of {}", one.cpu, double(one.bytes) / (1 << 20),
                                double(one.of) / (1 << 20), cacheName));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Resources resourcesOf(const ResourceRequest &request, const Topology &machine) {
  Resources resources;
  resources.request = request;
  resources.cpus = request.cpus.empty() ? machine.allowedCpus : selectCpus(machine, request.cpus);
  if (!request.memoryNode.empty())
    resolveNode(resources, machine);
  if (!request.frequencyCap.empty())
    resolveFrequency(resources, machine);
  if (!request.cacheShare.empty())
    resolveCache(resources, machine);
  return resources;
}

} // namespace lathe::lab
