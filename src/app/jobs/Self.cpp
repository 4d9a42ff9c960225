#include "jobs/Self.h"

#include "jobs/Terminal.h"
#include "process/TemporaryDirectory.h"
#include "support/CacheFolder.h"
#include "support/Interrupt.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace lathe::jobs {

std::string ownProgram() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  require(!error, "cannot find the program's own file: {}", error.message());
  return path;
}

std::string shippedFolder(const std::string &part) {
  std::filesystem::path program = ownProgram();
  return (program.parent_path() / "../share/lathe" / part).lexically_normal().string();
}

std::string compilerLibrary() {
  std::filesystem::path folder = std::filesystem::path(ownProgram()).parent_path();
  for (const char *place : {"../lib", "../lib/lathe", "../lib/x86_64-linux-gnu/lathe", "../lib/aarch64-linux-gnu/lathe",
                            "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu", "."}) {
    std::filesystem::path candidate = folder / place / "liblathe_cli_compiler.so";
    std::error_code ignored;
    if (std::filesystem::exists(candidate, ignored))
      return candidate.lexically_normal().string();
  }
  return "liblathe_cli_compiler.so";
}

void runSelf(const Arguments &arguments) {
  std::string program = ownProgram(), typed = "LATHE_TYPED_VERB=" + shownVerb();
  std::vector<char *> argv{program.data()}, environment;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  for (char **entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("LATHE_TYPED_VERB="))
      environment.push_back(*entry);
  environment.push_back(typed.data());
  environment.push_back(nullptr);
  pid_t child;
  posix_spawn_file_actions_t actions; // stdout belongs to the calling verb, which may write JSON
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes; // a separate group: terminal signals reach it only through this process
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  int error = ::posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  require(error == 0, "cannot start {}: {}", program, std::strerror(error));
  std::optional<Cleanup> cleanup;
  cleanup.emplace([child] { // SIGHUP: the child removes its files and prints nothing
    ::kill(child, SIGHUP);
    for (int tries = 0; tries < 500 && ::kill(child, 0) == 0; ++tries) // until the waitpid below has reaped it
      ::usleep(10000);
    ::kill(child, SIGKILL);
  });
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  cleanup.reset(); // if a signal has ended the child, waits for the end of this process
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return;
  if (WIFSIGNALED(status))
    sayError(shownVerb(), fmt::format("{}: 'lathe {}' was ended by signal {} ({})", arguments.at(1), arguments.at(0),
                                      WTERMSIG(status), ::strsignal(WTERMSIG(status))));
  throw ChildFailed{WIFEXITED(status) ? WEXITSTATUS(status) : internalError};
}

std::optional<std::string> trySelf(const Arguments &arguments) {
  std::filesystem::path file = temporaryFolder() / "error";
  std::filesystem::remove(file);
  const char *before = std::getenv(errorFileVariable); // set by the process that started this one
  std::optional<std::string> ours = before ? std::optional<std::string>(before) : std::nullopt;
  ::setenv(errorFileVariable, file.c_str(), 1);
  std::optional<std::string> reason;
  try {
    runSelf(arguments);
  } catch (const ChildFailed &child) {
    std::ifstream stream(file);
    std::string line;
    reason =
        std::getline(stream, line) ? line : fmt::format("'lathe {}': exit code {}", arguments.at(0), child.exitCode);
  }
  if (ours)
    ::setenv(errorFileVariable, ours->c_str(), 1);
  else
    ::unsetenv(errorFileVariable);
  return reason;
}

std::string cacheFolderOrSay(const std::string &part) {
  std::string why, folder = cacheFolder(part, &why);
  if (folder.empty())
    sayOnce("LATHE_NO_CACHE_SAID", fmt::format("lathe: works without a cache: {}", why));
  return folder;
}

std::filesystem::path temporaryFolder() {
  static process::TemporaryDirectory folder("cli");
  return folder.path;
}

} // namespace lathe::jobs
