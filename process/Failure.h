// How a worker process can go wrong, as a value: nothing a worker does throws in its supervisor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lathe::process {

enum class FailureKind {
  couldNotStart,  // no such program, no permission, no such directory
  exited,         // ended by itself before it had answered; exitCode
  crashed,        // ended by a signal nobody here sent; signal
  timedOut,       // no answer in time, or over its wall-clock limit; seconds
  cpuExceeded,    // over its CPU limit; seconds
  memoryExceeded, // over its memory limit; bytes: the limit
  garbage,        // its output is no message; detail: the beginning of what came
  threw,          // said itself what is wrong (a forked function: with an exception); detail: the text
};

/// "crashed", "timed_out", ... as written to JSON and stores.
std::string_view name(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::exited;
  int exitCode = 0;
  int signal = 0;
  double seconds = 0;
  int64_t bytes = 0;
  std::string who; // the command, for messages
  std::string detail;
  std::string stderrTail; // the last kilobytes of what it wrote there

  /// One line: "'node runner.mjs' was ended by signal 11 (Segmentation fault); it last said: ...".
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
