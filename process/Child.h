// One child process with three pipes: starting, limits, moving bytes, ending and reaping. Used by Worker.h and Run.h;
// others use those.
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

/// What to start. The environment is this process's own with `environment` put over it.
struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  std::string directory; // "" stays where we are
  /// Put before the command: {"ssh", "board"}, {"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"}.
  std::vector<std::string> prefix;
  /// The prefix hands what follows to a shell as one text (ssh, sh -c): directory, environment and arguments are
  /// quoted into that text instead of being set here.
  bool prefixIsShell = false;

  std::string str() const;
};

/// Zero means unlimited.
struct Limits {
  double wallSeconds = 0;        // of the whole life of the process; time spent paused counts
  double cpuSeconds = 0;         // kernel-enforced, rounded up to whole seconds
  int64_t residentBytes = 0;     // watched every 20 ms while somebody waits for the process, and at its end
  int64_t addressSpaceBytes = 0; // kernel-enforced: allocation beyond it fails inside the process
};

/// What a process has used so far, or in all once it has ended.
struct Usage {
  double wallSeconds = 0;
  double cpuSeconds = 0; // with the processes it has started, as long as they are there
  int64_t peakResidentBytes = 0;
};

/// A started process, the leader of its own group. The destructor ends the group and reaps it: no zombies, no orphans.
/// So does a signal that ends us (support/Interrupt.h). It is also ended by the kernel when the thread that started it
/// ends (Linux), so that a killed supervisor leaves nothing behind. One thread at a time.
///
/// No call waits for a process that cannot be signalled (one that has taken another user's identity, as setuid programs
/// do) or that hangs in the kernel: after `signalGraceSeconds` it is given up, and the Failure says that it still runs.
class Child {
public:
  static Result<std::unique_ptr<Child>> start(const Command &command, const Limits &limits);
  /// Forks and runs `function` in the child; what it writes to the descriptor is our `output`. Its standard output and
  /// error are our stderr tail. The child ends without destructors, with the returned exit code.
  static Result<std::unique_ptr<Child>> fork(const std::string &who, const std::function<int(int descriptor)> &function,
                                             const Limits &limits);
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  /// Moves bytes (input to it, output and stderr from it) until `done` holds: then nothing is returned. Otherwise how
  /// it ended: by itself, or by our hand because `seconds` passed (negative: no limit of this call's own) or a limit
  /// was exceeded. It is then reaped.
  std::optional<Failure> pump(double seconds, const std::function<bool()> &done);
  /// Ends and reaps it, with `kind` as the reason others are told.
  Failure end(FailureKind kind, const std::string &detail);
  /// Closes its input, lets it leave by itself, ends it after `graceSeconds`. How it ended; reaped.
  Failure leave(double graceSeconds);

  void closeInput();
  /// Stops and continues the whole group. `stop` returns when the process stands still or has ended; otherwise the
  /// reason why it goes on.
  [[nodiscard]] std::optional<std::string> stop();
  void resume();
  bool alive() const { return pid > 0; }
  pid_t id() const { return pid; }
  Usage usage() const;

  std::string input;  // still to be written to its stdin
  std::string output; // what came from its stdout and was not taken yet
  std::string stderrTail;
  std::string who;
  /// How long a process may take to stop or to end after the signal for it was sent.
  double signalGraceSeconds = 10;
  bool outputMayEnd = false; // otherwise a process that closed its output is given two seconds to leave

private:
  Child() = default;
  using Clock = std::chrono::steady_clock;
  enum class Killed { no, forTime, forMemory, byUs };

  Failure reap(double graceSeconds, Killed why, double seconds);
  Failure classify(int status, Killed why, double seconds) const;
  bool writeSome();
  bool readSome(int &descriptor, std::string &into, bool tail);
  bool overMemory();
  /// Signals the group, and the process itself where it has left its group. False when neither can be reached.
  bool signalGroup(int signal) const;
  void watchOver(pid_t started);

  pid_t pid = 0;
  std::optional<Cleanup> cleanup; // ends the group when a signal ends us
  int stdinPipe = -1, stdoutPipe = -1, stderrPipe = -1;
  bool stopped = false;
  Limits limits;
  int64_t inheritedResidentBytes = 0; // ours when it was forked
  Clock::time_point started;
  Usage final;
};

} // namespace lathe::process
