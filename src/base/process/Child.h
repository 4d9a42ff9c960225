// A child process with three pipes: start, limits, transfer of bytes, end and reaping. The base of Worker.h and
// Run.h, which other rooms use.
#pragma once

#include "process/Failure.h"
#include "support/Interrupt.h"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::process {

/// A program to start. The child inherits the environment of this process; `environment` adds variables and replaces
/// inherited ones of the same name.
struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  std::string directory; // working directory of the child; "": the directory of this process
  /// Words that stand before the command, so that it runs on another machine or in an emulator: {"ssh", "board"},
  /// {"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"}.
  std::vector<std::string> prefix;
  /// True if the prefix passes the rest of the command line to a shell as one text (ssh, sh -c). Directory,
  /// environment and arguments are then quoted into that text.
  bool prefixIsShell = false;

  std::string str() const;
};

/// Limits on the resources of a child process. Zero means unlimited.
struct Limits {
  double wallSeconds = 0; // largest time from start to end in seconds, paused time included
  double cpuSeconds = 0;  // largest CPU time in seconds; enforced by the kernel, rounded up to whole seconds
  /// Largest resident memory in bytes; checked every 20 ms while a caller waits for the process, and at its end.
  int64_t residentBytes = 0;
  /// Largest address space in bytes; enforced by the kernel: allocations beyond it fail in the process.
  int64_t addressSpaceBytes = 0;
};

/// Resources that a child process has used so far, or in total once it has ended.
struct Usage {
  double wallSeconds = 0;
  /// CPU time of the process and its living descendants. Once the process has ended: CPU time of the process and of the
  /// descendants whose end was waited for.
  double cpuSeconds = 0;
  int64_t peakResidentBytes = 0;
};

/// A started process, the leader of its own process group. The destructor ends and reaps the group,
/// so no zombie or orphan is left; a signal that ends this process does the same
/// (support/Interrupt.h). On Linux the kernel also ends the child when the thread that started it
/// ends, so a killed supervisor leaves nothing behind. Use an object from one thread at a time.
///
/// No call waits forever for a process that cannot be signalled (a setuid program that changed its
/// user) or that hangs in the kernel. After `signalGraceSeconds` the call gives up, and the Failure
/// says that the process still runs.
class Child {
public:
  static Result<std::unique_ptr<Child>> start(const Command &command, const Limits &limits);
  /// Forks this process and runs `function` in the child. Bytes that the function writes to `descriptor` arrive in
  /// `output`; its standard output and error go to `stderrTail`. The child then ends with the exit code that
  /// `function` returns, without running destructors.
  static Result<std::unique_ptr<Child>> fork(const std::string &who, const std::function<int(int descriptor)> &function,
                                             const Limits &limits);
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  /// Transfers bytes (`input` to the child, output and stderr from it) until `done` returns true; then returns
  /// nothing. Otherwise returns how the child ended: by itself, or killed because `seconds` passed (negative: no
  /// limit) or a limit was exceeded. The child is then reaped.
  std::optional<Failure> pump(double seconds, const std::function<bool()> &done);
  /// Kills and reaps the child. The Failure has the given kind and detail.
  Failure end(FailureKind kind, const std::string &detail);
  /// Closes the input of the child, waits `graceSeconds` for its exit, then kills it. Returns how
  /// the child ended; it is reaped.
  Failure leave(double graceSeconds);

  void closeInput();
  /// Stop and continue the whole process group of the child. `stop` returns nothing once the process is stopped or has
  /// ended, otherwise the reason why it still runs.
  [[nodiscard]] std::optional<std::string> stop();
  void resume();
  bool alive() const { return pid > 0; }
  pid_t id() const { return pid; }
  Usage usage() const;

  std::string input;  // bytes that still have to be written to the child's stdin
  std::string output; // bytes from the child's stdout that the caller has not removed yet
  std::string stderrTail;
  std::string who;
  /// Seconds that the process gets to stop or end after a signal.
  double signalGraceSeconds = 10;
  bool outputMayEnd = false; // true: a child may close its output and go on; false: it then has two seconds to exit

private:
  Child() = default;
  using Clock = std::chrono::steady_clock;
  enum class Killed { no, forTime, forMemory, byUs };

  Failure reap(double graceSeconds, Killed why, double seconds);
  Failure classify(int status, Killed why, double seconds) const;
  bool transfer(int milliseconds);
  bool writeSome();
  bool readSome(int &descriptor, std::string &into, bool tail);
  bool overMemory();
  /// Sends a signal to the child's process group, and to the process itself if it left the group. Returns false if
  /// neither can be signalled.
  bool signalGroup(int signal) const;
  void watchOver(pid_t started);

  pid_t pid = 0;
  std::optional<Cleanup> cleanup; // ends the child's process group if a signal ends this process
  int stdinPipe = -1, stdoutPipe = -1, stderrPipe = -1;
  bool stopped = false;
  Limits limits;
  int64_t inheritedResidentBytes = 0; // resident bytes of this process when it forked the child
  Clock::time_point started;
  Usage final;
};

} // namespace lathe::process
