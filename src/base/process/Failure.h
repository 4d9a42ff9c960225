// Failures of worker processes as values. A failing worker never throws in its supervisor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lathe::process {

enum class FailureKind {
  couldNotStart,  // no such program, no permission, no such directory
  exited,         // exited before it answered; see exitCode
  crashed,        // ended by a signal that this process did not send; see signal
  timedOut,       // no answer in time, or wall-clock limit exceeded; see seconds
  cpuExceeded,    // CPU limit exceeded; see seconds
  memoryExceeded, // memory limit exceeded; bytes is the limit
  garbage,        // its output is not a message; detail is the beginning of the output
  threw,          // reported an error itself (a forked function: an exception); detail is the text
};

/// "crashed", "timed_out", ... as stored and written to JSON.
std::string_view name(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::exited;
  int exitCode = 0;
  int signal = 0;
  double seconds = 0;
  int64_t bytes = 0;
  std::string who; // the command, for messages
  std::string detail;
  std::string stderrTail; // the last kilobytes of its standard error

  /// One line: "'lathe-runner-onnxruntime' was ended by signal 11 (Segmentation fault); it last
  /// said: ...".
  std::string message() const;
};

/// A value, or the failure that prevented it.
template <class T> class Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Failure failure) : state(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }
  T &operator*() { return std::get<0>(state); }
  const T &operator*() const { return std::get<0>(state); }
  T *operator->() { return &std::get<0>(state); }
  const T *operator->() const { return &std::get<0>(state); }
  const Failure &failure() const { return std::get<1>(state); }

private:
  std::variant<T, Failure> state;
};

} // namespace lathe::process
