#include "jobs/ResourceOptions.h"

#include "lab/resources/HeldResources.h"

#include <algorithm>

namespace lathe::jobs {

/// The values of a flag as a request has them, each once.
static std::vector<std::string> valuesOf(const std::vector<std::string> &given) {
  std::vector<std::string> values;
  for (const std::string &value : given)
    if (std::string wanted = value == "none" ? "" : value;
        std::find(values.begin(), values.end(), wanted) == values.end())
      values.push_back(std::move(wanted));
  if (values.empty())
    values.emplace_back();
  return values;
}

std::vector<lab::Resources> ResourceOptions::all() const {
  if (none())
    return {lab::Resources()};
  Topology machine = readTopology();
  std::vector<lab::Resources> result;
  for (const std::string &cpu : valuesOf(cpus))
    for (const std::string &node : valuesOf(memoryNodes))
      for (const std::string &cap : valuesOf(frequencyCaps))
        for (const std::string &share : valuesOf(cacheShares))
          result.push_back(lab::resourcesOf({cpu, node, cap, share}, machine));
  return result;
}

std::vector<lab::Resources> ResourceOptions::attempted() const {
  std::vector<lab::Resources> result = all();
  lab::HeldResources held;
  for (const lab::Resources &one : result)
    held.hold(one);
  return result;
}

} // namespace lathe::jobs
