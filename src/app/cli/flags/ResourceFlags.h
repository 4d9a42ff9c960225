// Flags about the resources that a measurement may use (docs/resources.md).
#pragma once

#include "cli/flags/Options.h"
#include "jobs/ResourceOptions.h"

namespace lathe::cli {

/// Adds --cpus, --memory-node, --frequency-cap and --cache-share. With `axes` each may be given several times, for a
/// row with each value.
void addResources(Options &options, ResourceOptions &resources, bool axes);

/// The names of these flags, for verbs that refuse them beside others.
inline constexpr auto resourceFlags = {"--cpus", "--memory-node", "--frequency-cap", "--cache-share"};

} // namespace lathe::cli
