// Starting children. Between fork and exec only async-signal-safe calls are made: other threads may hold any lock.
#include "process/Child.h"
#include "process/ShellWords.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

extern char **environ;

namespace lathe::process {

namespace {

struct Pipe {
  int read = -1, write = -1;
  ~Pipe() {
    for (int descriptor : {read, write})
      if (descriptor >= 0)
        ::close(descriptor);
  }
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return false;
    // Above the standard descriptors: a program that was started without one of them would get it here.
    for (int &end : ends)
      if (end <= 2) {
        int moved = ::fcntl(end, F_DUPFD_CLOEXEC, 3);
        ::close(end);
        end = moved;
      }
    read = ends[0];
    write = ends[1];
    return read >= 0 && write >= 0;
  }
  static int take(int &end) { return std::exchange(end, -1); }
};

/// The arguments that are executed: the prefix, then the command as arguments or as one text for a shell.
std::vector<std::string> fullArguments(const Command &command) {
  std::vector<std::string> arguments = command.prefix;
  if (!command.prefixIsShell) {
    arguments.insert(arguments.end(), command.argv.begin(), command.argv.end());
    return arguments;
  }
  std::string text;
  if (!command.directory.empty())
    text += "cd " + shellQuoted(command.directory) + " && ";
  text += "exec env";
  for (auto &[key, value] : command.environment)
    text += " " + shellQuoted(key + "=" + value);
  for (auto &argument : command.argv)
    text += " " + shellQuoted(argument);
  arguments.push_back(text);
  return arguments;
}

std::vector<std::string> fullEnvironment(const Command &command) {
  std::vector<std::string> result;
  for (char **entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    if (command.prefixIsShell || !command.environment.count(std::string(text.substr(0, text.find('=')))))
      result.emplace_back(text);
  }
  if (!command.prefixIsShell)
    for (auto &[key, value] : command.environment)
      result.push_back(key + "=" + value);
  return result;
}

std::vector<char *> pointers(std::vector<std::string> &texts) {
  std::vector<char *> result;
  for (auto &text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void setLimit(int resource, rlim_t soft, rlim_t hard) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? soft : std::min(soft, limit.rlim_max);
  limit.rlim_max = limit.rlim_max == RLIM_INFINITY ? hard : std::min(hard, limit.rlim_max);
  setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

/// In the child, before anything else.
void becomeWorker(const Limits &limits, pid_t supervisor) {
  setpgid(0, 0);
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) // it ended before the line above
    _exit(127);
#endif
  for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGQUIT, SIGCHLD, SIGHUP})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setLimit(RLIMIT_CORE, 0, 0);
  if (limits.cpuSeconds > 0) {
    auto seconds = rlim_t(std::ceil(limits.cpuSeconds));
    setLimit(RLIMIT_CPU, seconds, seconds + 1);
  }
  if (limits.addressSpaceBytes > 0)
    setLimit(RLIMIT_AS, rlim_t(limits.addressSpaceBytes), rlim_t(limits.addressSpaceBytes));
}

/// Resident and virtual bytes of this process.
std::pair<int64_t, int64_t> ownMemory() {
  long long total = 0, resident = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%lld %lld", &total, &resident) != 2)
      total = resident = 0;
    std::fclose(file);
  }
  int64_t page = sysconf(_SC_PAGESIZE);
  return {resident * page, total * page};
}

Failure notStarted(const std::string &who, const std::string &what) {
  Failure failure;
  failure.kind = FailureKind::couldNotStart;
  failure.who = who;
  failure.detail = what;
  return failure;
}

} // namespace

std::string Command::str() const {
  std::string text;
  for (auto *list : {&prefix, &argv})
    for (auto &argument : *list)
      text += (text.empty() ? "" : " ") + argument;
  return text;
}

Result<std::unique_ptr<Child>> Child::start(const Command &command, const Limits &limits) {
  std::string who = command.str();
  if (command.argv.empty())
    return notStarted(who, "empty command");
  auto arguments = fullArguments(command);
  auto environment = fullEnvironment(command);
  auto argumentPointers = pointers(arguments), environmentPointers = pointers(environment);
  const char *directory = command.directory.empty() || command.prefixIsShell ? nullptr : command.directory.c_str();

  Pipe in, out, err, status;
  if (!in.open() || !out.open() || !err.open() || !status.open())
    return notStarted(who, std::strerror(errno));
  std::unique_ptr<Child> child(new Child);
  child->who = who;
  child->limits = limits;
  child->started = Clock::now();
  child->inheritedResidentBytes = ownMemory().first;
  pid_t supervisor = getpid();
  pid_t pid = ::fork();
  if (pid < 0)
    return notStarted(who, std::strerror(errno));
  if (pid == 0) {
    becomeWorker(limits, supervisor);
    dup2(in.read, 0);
    dup2(out.write, 1);
    dup2(err.write, 2);
    int error = 0;
    if (directory && chdir(directory) != 0)
      error = errno;
    if (!error) {
      execvpe(argumentPointers[0], argumentPointers.data(), environmentPointers.data());
      error = errno;
    }
    [[maybe_unused]] ssize_t told = ::write(status.write, &error, sizeof error);
    _exit(127);
  }
  setpgid(pid, pid); // in both, so that neither depends on the other being first
  child->watchOver(pid);
  ::close(Pipe::take(status.write));
  int error = 0;
  ssize_t count;
  while ((count = ::read(status.read, &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (count > 0) {
    child.reset();
    if (directory && access(directory, X_OK) != 0)
      return notStarted(who, std::string(directory) + ": " + std::strerror(error));
    return notStarted(who, arguments[0] + ": " + std::strerror(error));
  }
  child->stdinPipe = Pipe::take(in.write);
  child->stdoutPipe = Pipe::take(out.read);
  child->stderrPipe = Pipe::take(err.read);
  for (int descriptor : {child->stdinPipe, child->stdoutPipe, child->stderrPipe})
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  return child;
}

Result<std::unique_ptr<Child>> Child::fork(const std::string &who, const std::function<int(int)> &function,
                                           const Limits &limits) {
  Pipe out, err;
  if (!out.open() || !err.open())
    return notStarted(who, std::strerror(errno));
  std::unique_ptr<Child> child(new Child);
  child->who = who;
  child->limits = limits;
  // The child begins as a copy of this process, so the limits are added to the size of the copy.
  auto [resident, total] = ownMemory();
  if (limits.residentBytes > 0)
    child->limits.residentBytes += resident;
  if (limits.addressSpaceBytes > 0)
    child->limits.addressSpaceBytes += total;
  child->inheritedResidentBytes = resident;
  child->started = Clock::now();
  std::fflush(nullptr); // or the child's copy of a buffer is written a second time
  pid_t supervisor = getpid();
  pid_t pid = ::fork();
  if (pid < 0)
    return notStarted(who, std::strerror(errno));
  if (pid == 0) {
    becomeWorker(child->limits, supervisor);
    int none = ::open("/dev/null", O_RDONLY);
    dup2(none, 0);
    dup2(err.write, 1);
    dup2(err.write, 2);
    int code = function(out.write);
    std::fflush(nullptr);
    _exit(code);
  }
  setpgid(pid, pid);
  child->watchOver(pid);
  child->stdoutPipe = Pipe::take(out.read);
  child->stderrPipe = Pipe::take(err.read);
  for (int descriptor : {child->stdoutPipe, child->stderrPipe})
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  return child;
}

} // namespace lathe::process
