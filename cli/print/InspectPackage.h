// What can be said of a compiled package without its model.
#pragma once

#include "cli/Common.h"

namespace lathe::cli {

/// `lathe inspect F.lathe`: what it was compiled from and for, its inputs and outputs, its sections, and its kernels
/// with their schedules. A package for another processor can be inspected, too. Throws Error naming the file.
int inspectPackage(const Options &options, const std::string &path);

} // namespace lathe::cli
