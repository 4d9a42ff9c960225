// Compiled packages kept by content: running a model a second time starts as fast as running its package.
#pragma once

#include "cli/ModelFlags.h"

namespace lathe::cli {

/// The package for `flags.model`: the file itself when it is one, otherwise the cached package of the same model bytes
/// (external data included), flags and compiler, made now by `lathe compile` in a process of its own where missing.
/// Throws Error when the model cannot be read. When compiling fails its message is on stderr and ChildFailed is thrown.
std::string packageFor(const ModelFlags &flags);

/// Hash of the bytes of the file `flags.model` and of those it names as external data.
uint64_t contentHash(const ModelFlags &flags);

/// Runs this program with `arguments` to its end, what it prints goes to stderr; throws ChildFailed when it does not
/// succeed (it has said why).
void runSelf(const Arguments &arguments);

/// "~/.cache/lathe" (XDG_CACHE_HOME respected).
std::string cacheFolder();
/// Where compiled kernels are kept for all models (compile/KernelCache.h).
std::string kernelCacheFolder();

/// Path of this program's own file.
std::string ownProgram();

/// liblathe_cli_compiler.so beside this program: the verbs that need the compiler.
std::string compilerLibrary();

/// What `lathe verify` found for a package, kept beside the cache by the package's own hash so that `bench` can say
/// whether the numbers it times were checked.
std::string verdictPath(const std::string &package);

} // namespace lathe::cli
