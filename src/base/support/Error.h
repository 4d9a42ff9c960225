// Errors of the user, and outcomes of steps that may decline.
//
// A wrong model, file or flag throws `Error`: one line that names the place, what was expected and
// what was found. Programming mistakes are asserts and never see user input. A step that may
// decline returns an `Outcome` with the reason.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace lathe {

/// Error of the user, with a one-line message. When it reaches `main` the process exits with code 2.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Throws `Error` with a formatted message.
template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws `Error` unless `condition` holds.
template <class... Args> void require(bool condition, fmt::format_string<Args...> format, Args &&...args) {
  if (!condition)
    throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// The reason why a step does not apply, for an Outcome. This is not an error.
struct NotApplicable {
  std::string reason;
};

/// The outcome of a step that may not apply: a value (done) or a reason (not applicable). For errors the step throws
/// `Error` instead.
template <class T> class Outcome {
public:
  Outcome(T value) : state(std::move(value)) {}
  Outcome(NotApplicable declined) : state(std::move(declined)) {}

  bool done() const { return state.index() == 0; }
  explicit operator bool() const { return done(); }
  T &operator*() { return std::get<0>(state); }
  const T &operator*() const { return std::get<0>(state); }
  T *operator->() { return &std::get<0>(state); }
  const T *operator->() const { return &std::get<0>(state); }
  const std::string &reason() const { return std::get<1>(state).reason; }

private:
  std::variant<T, NotApplicable> state;
};

} // namespace lathe
