#include "process/Failure.h"

#include <fmt/format.h>

#include <cstring>

namespace lathe::process {

std::string_view name(FailureKind kind) {
  switch (kind) {
  case FailureKind::couldNotStart:
    return "could_not_start";
  case FailureKind::exited:
    return "exited";
  case FailureKind::crashed:
    return "crashed";
  case FailureKind::timedOut:
    return "timed_out";
  case FailureKind::cpuExceeded:
    return "cpu_exceeded";
  case FailureKind::memoryExceeded:
    return "memory_exceeded";
  case FailureKind::garbage:
    return "garbage";
  case FailureKind::threw:
    return "threw";
  }
  return "unknown";
}

static std::string lastLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  if (auto at = text.rfind('\n'); at != text.npos)
    text.remove_prefix(at + 1);
  return std::string(text.substr(0, 300));
}

std::string Failure::message() const {
  std::string text;
  switch (kind) {
  case FailureKind::couldNotStart:
    text = fmt::format("'{}' could not be started: {}", who, detail);
    break;
  case FailureKind::exited:
    text = fmt::format("'{}' ended early with exit code {}", who, exitCode);
    break;
  case FailureKind::crashed:
    text = fmt::format("'{}' was ended by signal {} ({})", who, signal, strsignal(signal));
    break;
  case FailureKind::timedOut:
    text = fmt::format("'{}' gave no answer within {:.3g} s", who, seconds);
    break;
  case FailureKind::cpuExceeded:
    text = fmt::format("'{}' used more than {:.3g} s of CPU time", who, seconds);
    break;
  case FailureKind::memoryExceeded:
    text = fmt::format("'{}' needed more than its {} MiB of memory", who, bytes >> 20);
    break;
  case FailureKind::garbage:
    return fmt::format("'{}' wrote something that is no message: {}", who, detail);
  case FailureKind::threw:
    return detail;
  }
  if (kind != FailureKind::couldNotStart && !detail.empty())
    text += " (" + detail + ")";
  if (std::string said = lastLine(stderrTail); !said.empty())
    text += "; it last said: " + said;
  return text;
}

} // namespace lathe::process
