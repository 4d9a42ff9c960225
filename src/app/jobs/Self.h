// The files and folders of this program, and functions that start the program again.
#pragma once

#include "jobs/Common.h"

#include <filesystem>
#include <optional>

namespace lathe::jobs {

/// The path of this program's file.
std::string ownProgram();

/// The folder of data that comes with lathe, such as "records" or "models", or its file "revision": share/lathe/PART
/// beside bin. In the build tree it is a link to data/PART.
std::string shippedFolder(const std::string &part);

/// Path of liblathe_cli_compiler.so, which has the verbs that need the compiler.
std::string compilerLibrary();

/// Runs this program with `arguments`; its output goes to stderr. Throws ChildFailed if it fails;
/// it has then printed an error that names the verb of the user. Call it inside `guarded`.
void runSelf(const Arguments &arguments);
/// Runs this program like runSelf, but returns the reason of a failure, which is also printed on stderr; nothing on
/// success.
std::optional<std::string> trySelf(const Arguments &arguments);

/// Returns the folder of a part of the cache, lathe::cacheFolder(part). If that is "", prints the reason to stderr,
/// once per command.
std::string cacheFolderOrSay(const std::string &part);
/// A folder for temporary files of this process, removed when the process ends.
std::filesystem::path temporaryFolder();

} // namespace lathe::jobs
