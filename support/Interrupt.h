// Signals that end a program leave nothing behind.
//
// After catchInterrupts, SIGINT, SIGTERM and SIGHUP, and SIGPIPE, end the process in order: a thread that does nothing
// else runs the clean-ups that are registered, newest first, says one line (none for SIGHUP and SIGPIPE: nobody is
// there to read it) and ends the process with 128 + the signal's number. A second signal more than a second later ends
// it at once. A signal that was ignored when the program started stays ignored (nohup).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace lathe {

/// Begins to catch. `name` begins the line, "lathe ops"; a later call changes it. A shared library with a copy of this
/// file calls it too: its clean-ups run before those of the copy that called earlier.
void catchInterrupts(const std::string &name);

/// What to do when a signal ends the process while this object lives: remove a file, end a child. `action` runs on
/// another thread while the rest of the program goes on; it must not wait for another thread. After a fork the child's
/// signals run no actions.
class Cleanup {
public:
  explicit Cleanup(std::function<void()> action);
  ~Cleanup();
  Cleanup(const Cleanup &) = delete;
  Cleanup &operator=(const Cleanup &) = delete;

private:
  uint64_t id;
};

/// No clean-up begins while one of these lives: between making something and registering its removal.
class HoldCleanups {
public:
  HoldCleanups();
  ~HoldCleanups();
  HoldCleanups(const HoldCleanups &) = delete;
  HoldCleanups &operator=(const HoldCleanups &) = delete;
};

} // namespace lathe
