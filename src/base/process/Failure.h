// Failures of worker processes as values. A failing worker never causes an exception in its supervisor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lathe::process {

enum class FailureKind {
  couldNotStart,  // the program could not start: no such program, no permission, no such directory
  exited,         // the process exited before it answered; `exitCode` has its exit code
  crashed,        // a signal that this process did not send ended the process; `signal` has its number
  timedOut,       // no answer in time, or the wall-clock limit was exceeded; `seconds` has the limit
  cpuExceeded,    // the CPU limit was exceeded; `seconds` has the limit
  memoryExceeded, // the memory limit was exceeded; `bytes` has the limit
  garbage,        // the output of the process is not a message; `detail` has the beginning of the output
  threw,          // the process reported an error (a forked function: an exception); `detail` has the text
};

/// The text of a kind of failure in stored records and JSON: "crashed", "timed_out", ...
std::string_view name(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::exited;
  int exitCode = 0;
  int signal = 0;
  double seconds = 0;
  int64_t bytes = 0;
  std::string who; // the command that failed, for messages
  std::string detail;
  std::string stderrTail; // the last kilobytes of the standard error of the process

  /// The failure as one line: "'lathe-runner-onnxruntime' was ended by signal 11 (Segmentation fault); it last said:
  /// ...".
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
