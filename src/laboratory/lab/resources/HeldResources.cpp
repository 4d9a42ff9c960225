#include "lab/resources/HeldResources.h"

#include "lab/resources/CacheCompanion.h"
#include "lab/resources/CacheGroup.h"
#include "lab/resources/FrequencyCap.h"
#include "lab/resources/Placement.h"
#include "support/Error.h"

#include <deque>
#include <fmt/ranges.h>

namespace lathe::lab {

/// What is held now, in the order in which it was taken.
struct HeldResources::Held {
  Resources resources;
  std::optional<CpuAffinity> cpus;
  std::optional<MemoryNode> node;
  std::optional<FrequencyCap> frequency;
  CacheGroup *group = nullptr;
  std::deque<CacheCompanion> companions;

  ~Held() {
    if (group)
      group->leave();
  }
};

HeldResources::HeldResources(std::string root) : root(std::move(root)) { process::removeLeftOvers(); }
HeldResources::~HeldResources() = default;

/// Runs `take`, which holds one resource; its errors begin with the flag.
static void holdOne(const char *flag, const std::string &value, const auto &take) {
  if (value.empty())
    return;
  try {
    take();
  } catch (const Error &error) {
    fail("{} {}: {}", flag, value, error.what());
  }
}

bool HeldResources::holds(const Resources &wanted) const { return held ? held->resources == wanted : wanted.none(); }

void HeldResources::hold(const Resources &wanted) {
  if (holds(wanted))
    return;
  release();
  auto fresh = std::make_unique<Held>();
  fresh->resources = wanted;
  const ResourceRequest &request = wanted.request;
  if (!system && (wanted.frequencyKhz || wanted.ways))
    system.emplace();
  holdOne("--frequency-cap", request.frequencyCap,
          [&] { fresh->frequency.emplace(*system, root, wanted.cpus, wanted.frequencyKhz); });
  holdOne("--cache-share", request.cacheShare, [&] {
    if (wanted.ways) {
      auto &group = groups[wanted.ways];
      if (!group)
        group = std::make_unique<CacheGroup>(*system, root, wanted.ways);
      group->enter();
      fresh->group = group.get();
    }
    for (const Resources::Companion &one : wanted.companions)
      fresh->companions.emplace_back(one.cpu, one.bytes);
  });
  holdOne("--cpus", request.cpus, [&] { fresh->cpus.emplace(wanted.cpus); });
  holdOne("--memory-node", request.memoryNode, [&] { fresh->node.emplace(wanted.memoryNode); });
  held = std::move(fresh);
}

void HeldResources::release() {
  if (!held)
    return;
  double used = 0;
  for (const CacheCompanion &one : held->companions)
    used += one.cpuSeconds();
  cpuOfEnded += used;
  held.reset();
}

std::map<std::string, std::string> HeldResources::readBack() {
  std::map<std::string, std::string> stated;
  if (!held)
    return stated;
  if (held->cpus)
    stated["cpus"] = numberListText(CpuAffinity::read());
  if (held->node)
    stated["memory_node"] = numberListText(MemoryNode::read());
  if (held->frequency)
    stated["frequency_cap"] = held->frequency->readBack();
  if (held->group)
    stated["cache_ways"] = held->group->readBack();
  std::vector<std::string> companions;
  for (CacheCompanion &one : held->companions) {
    one.check();
    companions.push_back(one.readBack());
  }
  if (!companions.empty())
    stated["cache_companion"] = fmt::format("{}", fmt::join(companions, ", "));
  return stated;
}

double HeldResources::cpuSeconds() const {
  double seconds = cpuOfEnded;
  if (held)
    for (const CacheCompanion &one : held->companions)
      seconds += one.cpuSeconds();
  return seconds;
}

} // namespace lathe::lab
