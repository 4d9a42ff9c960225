// This program: its files, its folders, and starting it anew.
#pragma once

#include "cli/Common.h"

#include <filesystem>

namespace lathe::cli {

/// Path of this program's own file.
std::string ownProgram();

/// liblathe_cli_compiler.so beside this program: the verbs that need the compiler.
std::string compilerLibrary();

/// Runs this program with `arguments` to its end, what it prints goes to stderr; throws ChildFailed when it does not
/// succeed (it has said why, in the name of the verb that the user typed). To be called inside `guarded`.
void runSelf(const Arguments &arguments);

/// lathe::cacheFolder; where there is none this is said on stderr, once in a command.
std::string cacheFolderOrSay(const std::string &part);
/// A folder for files of this process, removed at its end.
std::filesystem::path temporaryFolder();

} // namespace lathe::cli
