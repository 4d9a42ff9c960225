// This program: its files and folders, and starting it again.
#pragma once

#include "jobs/Caller.h"

#include <nlohmann/json_fwd.hpp>

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

/// Thrown when a process that this process started has failed and printed its message. Its exit code becomes that of the
/// program.
struct ChildFailed {
  int exitCode;
};

/// Environment variable: the file that receives the message of a failure of the process, too (trySelf).
inline constexpr const char *errorFileVariable = "LATHE_ERROR_FILE";

/// Flag for a `lathe` process whose text is not read: prints progress only, or nothing for a silent caller.
std::string quietFlag();

/// Runs this program with `arguments`; its output goes to stderr. Throws ChildFailed if it fails;
/// it has then printed an error that names the verb of the user.
void runSelf(const Arguments &arguments);
/// As runSelf, but returns the reason of a failure; nothing if there is none. The message is on stderr, too.
std::optional<std::string> trySelf(const Arguments &arguments);

/// Does a job in a process of its own, which may crash: `job` names it (cli/verbs/JobVerb.cpp), `options` are its options as
/// a message. Returns the document of its result. Throws ChildFailed as runSelf. `subject`: for messages.
nlohmann::json doElsewhere(const std::string &job, const nlohmann::json &options, const std::string &subject);
/// As doElsewhere, but a failure leaves its reason in `reason`.
std::optional<nlohmann::json> tryElsewhere(const std::string &job, const nlohmann::json &options,
                                           const std::string &subject, std::string &reason);

/// Returns lathe::cacheFolder(part). If that is "", tells the caller the reason, once per command.
std::string cacheFolderOrSay(const std::string &part);
/// A folder for files of this process, removed when it ends.
std::filesystem::path temporaryFolder();

} // namespace lathe::jobs
