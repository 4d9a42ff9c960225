// This program: its files and folders, and starting it again.
#pragma once

#include "jobs/Common.h"

#include <filesystem>
#include <optional>

namespace lathe::jobs {

/// Path of the file of this program.
std::string ownProgram();

/// Folder with a part of what comes with lathe ("records", "models"), or its file "revision": share/lathe/PART beside bin. In the build tree it is a
/// link to data/PART.
std::string shippedFolder(const std::string &part);

/// Path of liblathe_cli_compiler.so, which has the verbs that need the compiler.
std::string compilerLibrary();

/// Runs this program with `arguments`; its output goes to stderr. Throws ChildFailed if it fails;
/// it has then printed an error that names the verb of the user. Call it inside `guarded`.
void runSelf(const Arguments &arguments);
/// As runSelf, but returns the reason of a failure; nothing if there is none. The message is on stderr, too.
std::optional<std::string> trySelf(const Arguments &arguments);

/// Returns lathe::cacheFolder(part). If that is "", prints the reason to stderr, once per command.
std::string cacheFolderOrSay(const std::string &part);
/// A folder for files of this process, removed when it ends.
std::filesystem::path temporaryFolder();

} // namespace lathe::jobs
