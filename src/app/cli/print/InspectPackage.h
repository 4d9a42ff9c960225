// Describes a compiled package without its model.
#pragma once

#include "cli/flags/Options.h"

namespace lathe::cli {

/// `lathe inspect F.lathe`: prints the origin and target of a package, its inputs and outputs, its
/// sections, and its kernels with their schedules. Packages for other processors can be inspected,
/// too. Throws Error with the name of the file.
int inspectPackage(const Options &options, const std::string &path);

} // namespace lathe::cli
