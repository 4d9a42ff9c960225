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
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  /// `total` 0: `what` says all there is.
  void update(const std::string &what, size_t done, size_t total);
  /// Of a task that a limit in seconds ends, if nothing ends it before: that much is left at most.
  void updateUntil(const std::string &what, double secondsLeft);

  /// Takes the line off the terminal, so that what is printed next begins at the left edge. The next update shows it
  /// again.
  static void endLine();
  /// No progress is shown in this process from now on.
  static void silence();
  static bool isSilent();

private:
  using Clock = std::chrono::steady_clock;
  /// True when a line is due.
  bool isDue();
  void show(const std::string &line);

  std::string task;
  TimeLeft left;
  Clock::time_point start = Clock::now(), lastLine;
  bool terminal;
};

} // namespace lathe::cli
