// The package of a model, as the flags say.
#pragma once

#include "cache/PackageCache.h"
#include "cli/ModelFlags.h"

namespace lathe::cli {

using cache::Package;

/// The package for `flags.model`: the file itself when it is one, otherwise the cached package of the same model bytes
/// (external data included), flags, compiler and, for the native target, processor; made now by `lathe compile` in a
/// process of its own where it is missing or damaged. Without a cache (--no-cache, or no folder for one) the package
/// lies in a folder that lives as long as this process. Throws Error when the model cannot be read. When compiling
/// fails its message is on stderr and ChildFailed is thrown.
Package packageFor(const ModelFlags &flags);

/// The package in the file `path`, checked as --check-constants says.
Package openPackage(const std::string &path, const ModelFlags &flags);

/// The files that `flags` name: the model with all that it consists of, the schedule.
std::vector<std::string> filesOf(const ModelFlags &flags);

} // namespace lathe::cli
