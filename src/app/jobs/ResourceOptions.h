// Options about the resources that a measurement may use (docs/resources.md).
#pragma once

#include "lab/resources/Resources.h"

#include <string>
#include <vector>

namespace lathe::jobs {

/// The values of --cpus, --memory-node, --frequency-cap and --cache-share, in the forms of lab::ResourceRequest, or
/// `none`: not limited. Several values of a flag are an axis of the measurement; without a value nothing is limited.
struct ResourceOptions {
  std::vector<std::string> cpus, memoryNodes, frequencyCaps, cacheShares;

  bool none() const { return cpus.empty() && memoryNodes.empty() && frequencyCaps.empty() && cacheShares.empty(); }
  /// All combinations on this machine, each once, at least one. Throws Error for a value that the machine does not
  /// allow.
  std::vector<lab::Resources> all() const;
  /// Like `all`, and holds each for a moment: throws Error for a value that the system refuses, before anything is
  /// measured.
  std::vector<lab::Resources> attempted() const;
};

} // namespace lathe::jobs
