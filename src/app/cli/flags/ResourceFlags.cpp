#include "cli/flags/ResourceFlags.h"

#include "cli/flags/Describe.h"

#include <fmt/format.h>

namespace lathe::cli {

void addResources(Options &options, ResourceOptions &resources, bool axes) {
  HelpSection section(options, "Resources");
  auto add = [&](const char *flag, std::vector<std::string> &values, const char *help, const char *byDefault) {
    CLI::Option *option = options.add_option(
        flag, values,
        fmt::format("{}{} (default none: {})", help, axes ? "; repeat the flag for several" : "", byDefault));
    return axes ? repeatable(option) : option->expected(1);
  };
  add("--cpus", resources.cpus,
      "Run on these CPUs only: 0-3,8, performance or efficiency (kinds of cores), one-per-core, node:N, package:N, or "
      "several joined by +, which all apply",
      "on any")
      ->check(offers({"none", "performance", "efficiency", "one-per-core"}))
      ->type_name("CPUS");
  add("--memory-node", resources.memoryNodes, "Take memory from this NUMA node only", "from any")
      ->check(offers({"none"}))
      ->type_name("N");
  add("--frequency-cap", resources.frequencyCaps, "Limit the frequency of these CPUs, as root, to 2GHz or 1800MHz",
      "not limited")
      ->check(offers({"none"}))
      ->type_name("FREQUENCY");
  add("--cache-share", resources.cacheShares,
      "Use 50% or 4ways of the last-level cache: by resctrl, as root, or where there is none by a companion that "
      "occupies the rest on another CPU",
      "all of it")
      ->check(offers({"none"}))
      ->type_name("SHARE");
}

} // namespace lathe::cli
