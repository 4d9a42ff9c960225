// Clean-up when a signal ends the program.
//
// After catchInterrupts, the signals SIGINT, SIGTERM, SIGHUP and SIGPIPE end the process in order.
// A thread that does nothing else runs the registered clean-ups, newest first, prints one line
// (none for SIGHUP and SIGPIPE, whose reader is gone) and ends the process with exit code 128 +
// signal number. A second signal more than a second later ends the process at once. A signal that
// was ignored when the program started stays ignored (nohup).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace lathe {

/// Starts to catch signals. The printed line begins with `name`, as "lathe ops"; a later call
/// changes the name. A shared library that contains its own copy of this file calls the function,
/// too; its clean-ups run before the clean-ups of the copy that called earlier.
void catchInterrupts(const std::string &name);

/// From now on SIGINT, SIGTERM and SIGHUP end the process at once, without clean-ups and without a line. A signal that
/// was ignored stays ignored.
void endQuietly();

/// Runs `action` if a signal ends the process while this object lives, for example to remove a file
/// or to end a child. `action` runs on another thread while the program goes on, and must not wait
/// for another thread. Signals in a forked child run no actions.
class Cleanup {
public:
  explicit Cleanup(std::function<void()> action);
  ~Cleanup();
  Cleanup(const Cleanup &) = delete;
  Cleanup &operator=(const Cleanup &) = delete;

private:
  uint64_t id;
};

/// Delays the clean-ups after a signal while the object lives. Use it between creating a resource and registering the
/// resource's removal.
class HoldCleanups {
public:
  HoldCleanups();
  ~HoldCleanups();
  HoldCleanups(const HoldCleanups &) = delete;
  HoldCleanups &operator=(const HoldCleanups &) = delete;
};

/// Returns at once while no signal has come. Once the clean-ups have begun, a caller on another thread than theirs
/// stands still until the process ends. Call it before a result is kept: children that have been ended and files that
/// have been removed look like faults of what is measured.
void haltIfInterrupted();

} // namespace lathe
