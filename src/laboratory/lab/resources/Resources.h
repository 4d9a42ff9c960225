// What a measurement may use of a machine: CPUs, a memory node, a highest frequency, a share of the last-level cache
// (docs/resources.md).
#pragma once

#include "machine/Topology.h"

#include <string>
#include <vector>

namespace lathe::lab {

/// The values of the flags --cpus, --memory-node, --frequency-cap and --cache-share; "": the resource is not limited.
struct ResourceRequest {
  std::string cpus = {};         // as selectCpus takes them
  std::string memoryNode = {};   // number of a memory node
  std::string frequencyCap = {}; // highest frequency, such as "2GHz" or "1800MHz"
  std::string cacheShare = {};   // share of the last-level cache, such as "50%" or "4ways"

  bool none() const { return *this == ResourceRequest(); }
  std::vector<std::string> arguments() const; // the flags that request it
  bool operator==(const ResourceRequest &) const = default;
};

/// A request on one machine: what will be held.
struct Resources {
  ResourceRequest request;
  NumberList cpus;             // CPUs that run the measurement: the selected ones, or all that the process may use
  int memoryNode = -1;         // -1: not limited
  int64_t frequencyKhz = 0;    // limit of the frequency of `cpus`; 0: not limited
  int ways = 0, waysInAll = 0; // ways of the last-level cache by resctrl; 0: not limited by resctrl
  std::string cacheName = {};  // name of that cache: "L3"
  struct Companion {
    int cpu = 0;               // CPU on which the companion runs
    int64_t bytes = 0, of = 0; // bytes that it occupies, of a cache with so many bytes
  };
  std::vector<Companion> companions; // occupy the rest of the cache, one for each last-level cache that `cpus` use

  bool none() const { return request.none(); }
  /// Text for tables and for the setting of points in the store, such as "cpus performance (0-7), at most 2000 MHz";
  /// "": nothing is limited. Points with different texts are different points.
  std::string text() const;
  bool operator==(const Resources &other) const { return request == other.request; } // of one machine
};

/// Resolves a request on a machine. Throws Error, which begins with the flag and its value, with the reason why the
/// machine does not allow it.
Resources resourcesOf(const ResourceRequest &request, const Topology &machine);

} // namespace lathe::lab
