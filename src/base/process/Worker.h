// A worker process that answers JSON messages, one a line: requests on its standard input, answers
// on its standard output.
//
// Anything but an answer (crash, hang, memory excess, other output, exit) becomes a `Failure`.
// After a failure the worker is dead and reaped, and every later call returns the same failure.
// Start a new worker then.
#pragma once

#include "process/Child.h"

#include <nlohmann/json.hpp>

namespace lathe::process {

class Worker {
public:
  static Result<Worker> start(const Command &command, const Limits &limits = {});

  /// Sends the worker a message and waits for its answer.
  Result<nlohmann::json> request(const nlohmann::json &message, double timeoutSeconds);
  /// Waits for the next message from the worker. Skips blank lines.
  Result<nlohmann::json> receive(double timeoutSeconds);
  /// Sends the worker a message without waiting for an answer. May wait for space in the pipe.
  std::optional<Failure> send(const nlohmann::json &message, double timeoutSeconds);

  /// Stop and continue the worker's process group (SIGSTOP, SIGCONT). `pause` returns when the
  /// group is stopped. Through a prefix such as ssh only the local end stops. Requests to a paused
  /// worker time out. A worker that cannot be stopped is killed and the failure is returned,
  /// because times measured beside a running worker are invalid.
  std::optional<Failure> pause();
  void resume();

  /// Closes the input of the worker and waits for its exit; kills it after `graceSeconds`. Returns
  /// the exit code, or the failure.
  Result<int> close(double graceSeconds);
  /// Kills the worker process at once.
  void kill();

  bool alive() const;
  pid_t id() const { return child->id(); }
  /// Sets the seconds that the worker gets to stop or end after a signal (default 10).
  void setSignalGrace(double seconds) { child->signalGraceSeconds = seconds; }
  Usage usage() const { return child->usage(); }
  std::string stderrTail() const { return child->stderrTail; }

  /// Largest length of a valid answer in bytes; a longer answer is FailureKind::garbage.
  static constexpr size_t maxMessageBytes = size_t(64) << 20;

private:
  explicit Worker(std::unique_ptr<Child> child) : child(std::move(child)) {}
  Failure failWith(Failure failure);

  std::unique_ptr<Child> child;
  std::optional<Failure> dead;
};

} // namespace lathe::process
