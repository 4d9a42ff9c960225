// Compiled packages kept by content: running a model a second time starts as fast as running its package.
#pragma once

#include "cli/ModelFlags.h"
#include "runtime/Model.h"

#include <filesystem>

namespace lathe::cli {

/// A package that is loaded, and where it lies.
struct Package {
  std::string path;
  std::shared_ptr<const runtime::Model> model;
};

/// The package for `flags.model`: the file itself when it is one, otherwise the cached package of the same model bytes
/// (external data included), flags, compiler and, for the native target, processor; made now by `lathe compile` in a
/// process of its own where it is missing or damaged. Without a cache (--no-cache, or no folder for one) the package
/// lies in a folder that lives as long as this process. Throws Error when the model cannot be read. When compiling
/// fails its message is on stderr and ChildFailed is thrown.
Package packageFor(const ModelFlags &flags);

/// The package in the file `path`, checked as --check-constants says.
Package openPackage(const std::string &path, const ModelFlags &flags);

/// Hash of the bytes of the file `flags.model` and of those it names as external data.
uint64_t contentHash(const ModelFlags &flags);

/// The files that `flags` name: the model, what it names as external data, the weights of textual IR, the schedule.
std::vector<std::string> filesOf(const ModelFlags &flags);

/// Runs this program with `arguments` to its end, what it prints goes to stderr; throws ChildFailed when it does not
/// succeed (it has said why, in the name of the verb that the user typed). To be called inside `guarded`.
void runSelf(const Arguments &arguments);

/// lathe::cacheFolder; where there is none this is said on stderr, once in a command.
std::string cacheFolderOrSay(const std::string &part);
/// A folder for files of this process, removed at its end.
std::filesystem::path temporaryFolder();

/// Path of this program's own file.
std::string ownProgram();

/// liblathe_cli_compiler.so beside this program: the verbs that need the compiler.
std::string compilerLibrary();

/// Where what `lathe verify` found for a package is kept, by a hash of all of its content, so that `bench` can say
/// whether the numbers it times were checked. "" where it cannot be kept: there is no cache, or the package's constants
/// were not checked, so that it may be another package than it says.
std::string verdictPath(const runtime::Model &package);

} // namespace lathe::cli
