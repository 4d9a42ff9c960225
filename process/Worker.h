// A worker: a process that answers JSON messages, one a line, on its standard output to those on its standard input.
//
// Whatever it does instead of answering (crash, hang, eat memory, print something else, leave) becomes a `Failure`.
// After a failure the worker is dead and reaped, and every later call returns that same failure: start another one.
#pragma once

#include "process/Child.h"

#include <nlohmann/json.hpp>

namespace lathe::process {

class Worker {
public:
  static Result<Worker> start(const Command &command, const Limits &limits = {});

  /// Sends a message and waits for the next one from the worker.
  Result<nlohmann::json> request(const nlohmann::json &message, double timeoutSeconds);
  /// Waits for the next message. Blank lines are skipped.
  Result<nlohmann::json> receive(double timeoutSeconds);
  /// Sends without waiting for anything but room in the pipe.
  std::optional<Failure> send(const nlohmann::json &message, double timeoutSeconds);

  /// SIGSTOP and SIGCONT to the worker's process group; `pause` returns when it stands still. Through a prefix such as
  /// ssh only the local end stops. Requests to a paused worker time out. A worker that cannot be stopped is ended, and
  /// the failure returned: times taken beside one that runs would mean nothing.
  std::optional<Failure> pause();
  void resume();

  /// Closes its input and waits for it to leave by itself; ends it after `graceSeconds`. Its exit code, or how else it
  /// ended.
  Result<int> close(double graceSeconds);
  /// Ends it at once.
  void kill();

  bool alive() const;
  pid_t id() const { return child->id(); }
  /// How long it may take to stop or to end after the signal for it was sent: 10 s where nothing else is said.
  void setSignalGrace(double seconds) { child->signalGraceSeconds = seconds; }
  Usage usage() const { return child->usage(); }
  std::string stderrTail() const { return child->stderrTail; }

  /// An answer longer than this is garbage.
  static constexpr size_t maxMessageBytes = size_t(64) << 20;

private:
  explicit Worker(std::unique_ptr<Child> child) : child(std::move(child)) {}
  Failure failWith(Failure failure);

  std::unique_ptr<Child> child;
  std::optional<Failure> dead;
};

} // namespace lathe::process
