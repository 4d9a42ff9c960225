#include "process/Child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace lathe::process {

namespace {

constexpr size_t tailBytes = 8192;
// Time to exit for a worker that closed its output, in seconds.
constexpr double closedOutputGraceSeconds = 2;

/// Peak resident bytes of a live process since its last exec; 0 where unknown.
int64_t peakResident(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/status", int(pid));
  std::FILE *file = std::fopen(path, "re");
  if (!file)
    return 0;
  char line[256];
  long long kib = 0;
  while (std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "VmHWM: %lld kB", &kib) == 1)
      break;
  std::fclose(file);
  return int64_t(kib) * 1024;
}

/// The living processes that `pid` has started; none where the system does not list them.
std::vector<pid_t> childrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (auto &task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
    std::ifstream list(task.path() / "children");
    for (pid_t child; list >> child;)
      children.push_back(child);
  }
  return children;
}

/// Processor seconds of the process and of all processes that it has started.
double cpuSecondsOf(pid_t pid) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return 0;
  double seconds = double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
  for (pid_t child : childrenOf(pid))
    seconds += cpuSecondsOf(child);
  return seconds;
}

double secondsBetween(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

} // namespace

static bool signalGroupOf(pid_t pid, int signal) {
  // The process may have moved to another group. If it is still in its own group, it gets the signal twice.
  bool group = ::kill(-pid, signal) == 0;
  return ::kill(pid, signal) == 0 || group;
}

bool Child::signalGroup(int signal) const { return pid > 0 && signalGroupOf(pid, signal); }

void Child::watchOver(pid_t started) {
  pid = started;
  cleanup.emplace([started] { signalGroupOf(started, SIGKILL); });
}

Child::~Child() {
  if (alive())
    reap(0, Killed::byUs, 0);
  for (int descriptor : {stdinPipe, stdoutPipe, stderrPipe})
    if (descriptor >= 0)
      ::close(descriptor);
}

void Child::closeInput() {
  if (stdinPipe >= 0)
    ::close(stdinPipe);
  stdinPipe = -1;
}

static bool hasExited(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/// Waits until one of `events` (WEXITED, WSTOPPED) is there to be fetched; false after `seconds`.
static bool waitFor(pid_t pid, int events, double seconds) {
  auto entered = std::chrono::steady_clock::now();
  for (useconds_t pause = 50;; pause = std::min<useconds_t>(2 * pause, 5000)) {
    siginfo_t info{};
    if (waitid(P_PID, id_t(pid), &info, events | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
      return true;
    if (secondsBetween(entered, std::chrono::steady_clock::now()) >= seconds)
      return false;
    usleep(pause);
  }
}

std::optional<std::string> Child::stop() {
  if (!alive() || stopped)
    return std::nullopt;
  std::string why = signalGroup(SIGSTOP) ? "does not stop" : fmt::format("cannot be stopped: {}", std::strerror(errno));
  if (!waitFor(pid, WSTOPPED | WEXITED, signalGraceSeconds)) {
    signalGroup(SIGCONT); // some processes of the group may have stopped
    return fmt::format("'{}' (process {}) {}", who, pid, why);
  }
  stopped = true;
  return std::nullopt;
}

void Child::resume() {
  if (alive() && stopped)
    signalGroup(SIGCONT);
  stopped = false;
}

Usage Child::usage() const {
  if (!alive())
    return final;
  return {secondsBetween(started, Clock::now()), cpuSecondsOf(pid),
          std::max(final.peakResidentBytes, peakResident(pid))};
}

bool Child::overMemory() {
  if (limits.residentBytes <= 0)
    return false;
  final.peakResidentBytes = std::max(final.peakResidentBytes, peakResident(pid));
  return final.peakResidentBytes > limits.residentBytes;
}

/// Writes as many bytes as the pipe takes; false once the process reads no more.
bool Child::writeSome() {
  // A write to a closed pipe raises SIGPIPE in this thread: block it, and take it back if it came, so that the
  // program's own handling stays.
  sigset_t pipeSignal, before, pending;
  sigemptyset(&pipeSignal);
  sigaddset(&pipeSignal, SIGPIPE);
  sigpending(&pending);
  bool wasPending = sigismember(&pending, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipeSignal, &before);
  ssize_t written = ::write(stdinPipe, input.data(), std::min<size_t>(input.size(), size_t(1) << 16));
  int error = errno;
  if (written < 0 && error == EPIPE && !wasPending) {
    timespec zero{};
    while (sigtimedwait(&pipeSignal, nullptr, &zero) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (written > 0)
    input.erase(0, size_t(written));
  return written >= 0 || error == EAGAIN || error == EINTR;
}

/// Reads the available bytes; false at the end of the stream.
bool Child::readSome(int &descriptor, std::string &into, bool tail) {
  char buffer[1 << 16];
  ssize_t count = ::read(descriptor, buffer, sizeof buffer);
  if (count > 0) {
    into.append(buffer, size_t(count));
    if (tail && into.size() > 2 * tailBytes)
      into.erase(0, into.size() - tailBytes);
    return true;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return true;
  ::close(descriptor);
  descriptor = -1;
  return false;
}

/// Waits up to `milliseconds` until a pipe is ready, then reads and writes what is possible; false if no byte moved.
bool Child::transfer(int milliseconds) {
  pollfd polled[3];
  int count = 0;
  if (stdoutPipe >= 0)
    polled[count++] = {stdoutPipe, POLLIN, 0};
  if (stderrPipe >= 0)
    polled[count++] = {stderrPipe, POLLIN, 0};
  if (stdinPipe >= 0 && !input.empty())
    polled[count++] = {stdinPipe, POLLOUT, 0};
  int ready = ::poll(polled, nfds_t(count), milliseconds);
  bool moved = false;
  for (int i = 0; ready > 0 && i < count; ++i) {
    if (!polled[i].revents)
      continue;
    moved = true;
    if (polled[i].fd == stdinPipe) {
      if (!writeSome()) {
        input.clear();
        closeInput();
      }
    } else if (polled[i].fd == stdoutPipe) {
      readSome(stdoutPipe, output, false);
    } else {
      readSome(stderrPipe, stderrTail, true);
    }
  }
  return moved;
}

std::optional<Failure> Child::pump(double seconds, const std::function<bool()> &done) {
  auto entered = Clock::now();
  std::optional<Clock::time_point> outputEnded;
  int tick = limits.residentBytes > 0 ? 20 : 50; // milliseconds
  while (true) {
    if (done())
      return std::nullopt;
    // Tested before the last read, so that the last read gets the complete output.
    bool exited = hasExited(pid);
    double left = seconds < 0 ? 1 : seconds - secondsBetween(entered, Clock::now());
    if (limits.wallSeconds > 0)
      left = std::min(left, limits.wallSeconds - secondsBetween(started, Clock::now()));
    // A process usually ends soon after its output has ended.
    int wait = exited ? 0 : std::clamp(int(std::ceil(left * 1000)), 0, stdoutPipe < 0 ? 2 : tick);
    bool moved = transfer(wait);
    if (moved && done())
      return std::nullopt;
    if (exited && !moved)
      return reap(0, Killed::no, 0);
    if (overMemory())
      return reap(0, Killed::forMemory, 0);
    auto now = Clock::now();
    if (limits.wallSeconds > 0 && secondsBetween(started, now) >= limits.wallSeconds)
      return reap(0, Killed::forTime, limits.wallSeconds);
    if (seconds >= 0 && secondsBetween(entered, now) >= seconds)
      return reap(0, Killed::forTime, seconds);
    if (stdoutPipe < 0 && !outputMayEnd && !exited) {
      if (!outputEnded)
        outputEnded = now;
      if (secondsBetween(*outputEnded, now) >= closedOutputGraceSeconds)
        return end(FailureKind::garbage, "closed its output and stayed");
    }
  }
}

Failure Child::end(FailureKind kind, const std::string &detail) {
  Failure failure = reap(0, Killed::byUs, 0);
  failure.kind = kind;
  failure.exitCode = failure.signal = 0;
  failure.detail = failure.detail.empty() || detail.empty() ? detail + failure.detail : detail + "; " + failure.detail;
  return failure;
}

/// Waits up to `graceSeconds` for the process to leave, ends its group, reaps it and drains stderr.
Failure Child::reap(double graceSeconds, Killed why, double seconds) {
  final.peakResidentBytes = std::max(final.peakResidentBytes, peakResident(pid));
  waitFor(pid, WEXITED, graceSeconds);
  // Until the leader is reaped, the system does not give its group number to another group.
  std::string refused = signalGroup(SIGKILL) ? "" : fmt::format(": {}", std::strerror(errno));
  int status = 0;
  rusage used{};
  bool ended = waitFor(pid, WEXITED, signalGraceSeconds);
  cleanup.reset();
  if (ended)
    while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR) {
    }
  final.wallSeconds = secondsBetween(started, Clock::now());
  auto inSeconds = [](timeval time) { return double(time.tv_sec) + double(time.tv_usec) * 1e-6; };
  final.cpuSeconds = inSeconds(used.ru_utime) + inSeconds(used.ru_stime);
  // The kernel's peak includes the time before exec, when the child was a copy of this process. Only a larger peak is
  // its own.
  if (int64_t peak = int64_t(used.ru_maxrss) * 1024; peak > inheritedResidentBytes)
    final.peakResidentBytes = std::max(final.peakResidentBytes, peak);
  // A descendant that left the group may hold the pipe open, so this only takes the available bytes.
  for (int i = 0; i < 64 && stderrPipe >= 0; ++i) {
    pollfd polled{stderrPipe, POLLIN, 0};
    if (::poll(&polled, 1, 0) <= 0 || !readSome(stderrPipe, stderrTail, true))
      break;
  }
  if (stderrTail.size() > tailBytes)
    stderrTail.erase(0, stderrTail.size() - tailBytes);
  Failure failure = classify(status, why, seconds);
  if (!ended)
    failure.detail = fmt::format("process {} could not be ended and still runs{}", pid, refused);
  pid = 0;
  return failure;
}

static bool saysOutOfMemory(const std::string &text) {
  for (const char *sign : {"bad_alloc", "annot allocate memory", "ut of memory", "emory exhausted"})
    if (text.find(sign) != text.npos)
      return true;
  return false;
}

Failure Child::classify(int status, Killed why, double seconds) const {
  Failure failure;
  failure.who = who;
  failure.stderrTail = stderrTail;
  failure.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  failure.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  bool overResident = limits.residentBytes > 0 && final.peakResidentBytes > limits.residentBytes;
  // The kernel does not report that a limit of the address space was hit. The allocation fails inside the process, and
  // most programs say so.
  bool overAddressSpace = limits.addressSpaceBytes > 0 && status != 0 && saysOutOfMemory(stderrTail);
  if (why == Killed::forMemory || (why == Killed::no && (overResident || overAddressSpace))) {
    failure.kind = FailureKind::memoryExceeded;
    failure.bytes = why == Killed::forMemory || overResident ? limits.residentBytes : limits.addressSpaceBytes;
  } else if (why == Killed::forTime) {
    failure.kind = FailureKind::timedOut;
    failure.seconds = seconds;
  } else if (failure.signal == SIGXCPU ||
             (failure.signal == SIGKILL && limits.cpuSeconds > 0 && final.cpuSeconds >= limits.cpuSeconds)) {
    failure.kind = FailureKind::cpuExceeded;
    failure.seconds = limits.cpuSeconds;
  } else if (failure.signal != 0) {
    failure.kind = FailureKind::crashed;
    if (failure.signal == SIGKILL && why == Killed::no)
      failure.detail = "perhaps by the kernel, for memory";
  } else {
    failure.kind = FailureKind::exited;
  }
  return failure;
}

Failure Child::leave(double graceSeconds) {
  closeInput();
  resume();
  auto failure = pump(graceSeconds, [] { return false; });
  return *failure;
}

} // namespace lathe::process
