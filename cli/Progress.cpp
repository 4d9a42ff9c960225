#include "cli/Progress.h"

#include "cli/Common.h"

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

Progress::Progress(std::string task) : task(std::move(task)), terminal(::isatty(2)) {}

Progress::~Progress() {
  if (shown && terminal)
    fmt::print(stderr, "\r\033[K");
}

void Progress::update(const std::string &what, size_t done, size_t total) {
  Clock::time_point now = Clock::now();
  auto seconds = [&](Clock::time_point since) { return std::chrono::duration<double>(now - since).count(); };
  left.update(done, total, seconds(start));
  if (seconds(start) < 2 || seconds(lastLine) < (terminal ? 0.2 : 10))
    return;
  lastLine = now;
  shown = true;
  std::string line = fmt::format("{}: {}", task, what);
  if (total)
    line += fmt::format(" {}/{}", done, total);
  if (auto rest = left.seconds())
    line += fmt::format(", about {} left", waitText(*rest));
  if (terminal)
    fmt::print(stderr, "\r\033[K{}", line);
  else
    fmt::print(stderr, "{}\n", line);
}

} // namespace lathe::cli
