// How far a long task is, and the time that is left of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace lathe::cli {

/// Follows from how long what was done took, counted anew when the number of all changes or `done` goes back.
class TimeLeft {
public:
  /// `now`: seconds since anything, as in every call.
  void update(size_t done, size_t total, double now);
  /// Seconds, at the last update; nothing where nothing was done since counting began, or nothing is left.
  std::optional<double> seconds() const;

private:
  size_t total = 0, first = 0, done = 0;
  double began = 0, last = 0;
};

/// Says on stderr how far a long task is, with the time left; silent for the first two seconds. On a terminal the line
/// is rewritten, elsewhere one is printed every ten seconds.
class Progress {
public:
  explicit Progress(std::string task);
  ~Progress();
  /// `total` 0: `what` says all there is.
  void update(const std::string &what, size_t done, size_t total);

private:
  using Clock = std::chrono::steady_clock;
  std::string task;
  TimeLeft left;
  Clock::time_point start = Clock::now(), lastLine;
  bool terminal, shown = false;
};

} // namespace lathe::cli
