// Shows the progress of long tasks and the remaining time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace lathe::jobs {

/// Estimates the remaining time of a task from the time of its finished part. Starts again if the total changes or
/// `done` decreases.
class TimeLeft {
public:
  /// `afterwards`: seconds that the task takes after its last counted part.
  explicit TimeLeft(double afterwards = 0) : afterwards(afterwards) {}
  /// Reports that `done` of `total` parts are finished. `now` is in seconds from any fixed moment.
  void update(double done, size_t total, double now);
  /// Remaining seconds at the last update; nothing if nothing was done yet or nothing is left.
  std::optional<double> seconds() const;

private:
  double afterwards;
  size_t total = 0;
  double first = 0, done = 0; // number of finished parts when the estimate began, and now
  double began = 0, last = 0;
};

/// Prints the progress of a task with the remaining time to stderr, once the task takes longer than two seconds. On a
/// terminal one line is rewritten; otherwise a line is printed every ten seconds.
class Progress {
public:
  explicit Progress(std::string task);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  /// Reports that `done` of `total` parts are finished; with `total` 0 it shows only `what`. `begun`: the finished
  /// share of each part in progress, summed.
  void update(const std::string &what, size_t done, size_t total, double begun = 0);
  /// Reports progress of a task with a time limit: at most `secondsLeft` remain.
  void updateUntil(const std::string &what, double secondsLeft);

  /// Removes the line of progress from the terminal, so that other text begins at the left edge. The next update
  /// prints it again.
  static void endLine();
  /// Makes this process print no progress.
  static void silence();
  static bool isSilent();

  /// Declares that this process and its future child processes do step `number` of `count` of a longer task. Its
  /// progress shows the step, and the expected remaining time of the longer task if it is known.
  static void beginStep(size_t number, size_t count, std::optional<double> secondsLeft);
  static void endSteps();
  /// The step of the longer task as text: " (2/8, about 1.2 h left in all)"; "" if no step was declared.
  static std::string stepText();

private:
  using Clock = std::chrono::steady_clock;
  /// True if it is time to print a line of progress.
  bool isDue();
  void show(const std::string &line);

  std::string task;
  TimeLeft left;
  Clock::time_point start = Clock::now(), lastLine;
  bool terminal;
};

} // namespace lathe::jobs
