#include "jobs/Progress.h"

#include "jobs/Common.h"
#include "support/Text.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace lathe::jobs {

void TimeLeft::update(double done, size_t total, double now) {
  if (total != this->total || done < this->done) {
    this->total = total;
    first = done;
    began = now;
  }
  this->done = done;
  last = now;
}

std::optional<double> TimeLeft::seconds() const {
  if (done <= first || done >= double(total))
    return std::nullopt;
  return (last - began) / (done - first) * (double(total) - done) + afterwards;
}

namespace {
std::atomic<bool> silent{false}, lineShown{false}; // one for the process, like the terminal
}

/// "2/8;END" in the environment: the number of the step, and the expected end of the longer task, in seconds of the
/// system's steady clock ("": unknown).
static constexpr const char *stepVariable = "LATHE_PROGRESS_STEP";

static double steadyNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Progress::beginStep(size_t number, size_t count, std::optional<double> secondsLeft) {
  std::string end = secondsLeft ? fmt::format("{:.0f}", steadyNow() + *secondsLeft) : "";
  ::setenv(stepVariable, fmt::format("{}/{};{}", number, count, end).c_str(), 1);
}

void Progress::endSteps() { ::unsetenv(stepVariable); }

std::string Progress::stepText() {
  const char *given = std::getenv(stepVariable);
  if (!given || !*given)
    return "";
  std::string text = given, end = text.substr(std::min(text.size(), text.find(';') + 1));
  double left = end.empty() ? 0 : std::max(std::strtod(end.c_str(), nullptr) - steadyNow(), 0.0);
  return fmt::format(" ({}{})", text.substr(0, text.find(';')),
                     end.empty() ? "" : fmt::format(", about {} left in all", waitText(left)));
}

Progress::Progress(std::string task) : task(std::move(task)), terminal(::isatty(2)) {}

Progress::~Progress() { endLine(); }

void Progress::endLine() {
  if (lineShown.exchange(false))
    fmt::print(stderr, "\r\033[K");
}

void Progress::silence() { silent = true; }
bool Progress::isSilent() { return silent; }

bool Progress::isDue() {
  Clock::time_point now = Clock::now();
  auto seconds = [&](Clock::time_point since) { return std::chrono::duration<double>(now - since).count(); };
  if (silent || seconds(start) < 2 || seconds(lastLine) < (terminal ? 0.2 : 10))
    return false;
  lastLine = now;
  return true;
}

void Progress::show(const std::string &line) {
  std::string text = printable(fmt::format("{}{}: {}", task, stepText(), line));
  if (terminal) {
    fmt::print(stderr, "\r\033[K{}", text);
    lineShown = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

void Progress::update(const std::string &what, size_t done, size_t total, double begun) {
  left.update(double(done) + begun, total, std::chrono::duration<double>(Clock::now() - start).count());
  if (!isDue())
    return;
  std::string line = what;
  if (total)
    line += fmt::format(" {}/{}", done, total);
  if (auto rest = left.seconds())
    line += fmt::format(", about {} left", waitText(*rest));
  show(line);
}

void Progress::updateUntil(const std::string &what, double secondsLeft) {
  if (isDue())
    show(fmt::format("{}, at most {} left", what, waitText(std::max(secondsLeft, 0.0))));
}

} // namespace lathe::jobs
