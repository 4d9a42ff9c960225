#include "cli/print/Progress.h"

#include "cli/Common.h"
#include "support/Text.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace lathe::cli {

void TimeLeft::update(size_t done, size_t total, double now) {
  if (total != this->total || done < this->done) {
    this->total = total;
    first = done;
    began = now;
  }
  this->done = done;
  last = now;
}

std::optional<double> TimeLeft::seconds() const {
  if (done <= first || done >= total)
    return std::nullopt;
  return (last - began) / double(done - first) * double(total - done);
}

namespace {
std::atomic<bool> silent{false}, lineShown{false}; // of the process: so is the terminal
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
  std::string text = printable(fmt::format("{}: {}", task, line));
  if (terminal) {
    fmt::print(stderr, "\r\033[K{}", text);
    lineShown = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

void Progress::update(const std::string &what, size_t done, size_t total) {
  left.update(done, total, std::chrono::duration<double>(Clock::now() - start).count());
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

} // namespace lathe::cli
