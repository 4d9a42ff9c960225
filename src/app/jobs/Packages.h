// Finds the package of a model in the cache, or compiles the model.
#pragma once

#include "cache/PackageCache.h"
#include "jobs/ModelOptions.h"

#include <optional>

namespace lathe::jobs {

using cache::Package;

/// Returns the package for `flags.model`: the file itself if it is a package, else the cached
/// package for the same model bytes (with external data), flags, tuning records, compiler and, for
/// the native target, processor. If it is missing or damaged, `lathe compile` makes it in another
/// process. Without a cache (--no-cache, or no folder for it) the package is in a folder that is
/// removed when this process ends. Says on stderr if kernels have schedules of tuning records.
/// Throws Error if the model cannot be read, and ChildFailed if compiling fails; the message is
/// then on stderr.
Package packageFor(const ModelOptions &flags);

/// Loads the package in the file `path`, and checks its constants as --check-constants says.
Package openPackage(const std::string &path, const ModelOptions &flags);

/// The files that a command with these options reads: the model with its data files, and the files of --schedule and
/// --machine.
std::vector<std::string> filesOf(const ModelOptions &flags);

/// Hash of the graph of a model: of the bytes of its files or the name of a zoo network, and of the flags that change
/// the graph. Empty for a model that can be read only once, from a pipe.
std::optional<uint64_t> modelKey(const ModelOptions &flags);

} // namespace lathe::jobs
