#include "process/Run.h"

#include <unistd.h>

#include <cerrno>
#include <exception>
#include <new>

namespace lathe::process {

Result<Finished> run(const Command &command, const Limits &limits, const std::string &input) {
  auto started = Child::start(command, limits);
  if (!started)
    return started.failure();
  Child &child = **started;
  child.outputMayEnd = true;
  child.input = input;
  if (input.empty())
    child.closeInput();
  Failure ending = *child.pump(-1, [&] {
    if (child.input.empty())
      child.closeInput();
    return false;
  });
  if (ending.kind != FailureKind::exited)
    return ending;
  return Finished{ending.exitCode, std::move(child.output), child.stderrTail, child.usage()};
}

static bool writeAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR)
      return false;
    if (count > 0)
      text.remove_prefix(size_t(count));
  }
  return true;
}

Result<std::string> runForked(const std::string &who, const std::function<std::string()> &function,
                              const Limits &limits) {
  // The first byte tells value, exception and failed allocation apart.
  auto started = Child::fork(
      who,
      [&](int descriptor) {
        std::string answer;
        try {
          answer = "v" + function();
        } catch (const std::bad_alloc &) {
          answer = "m";
        } catch (const std::exception &exception) {
          answer = std::string("t") + exception.what();
        } catch (...) {
          answer = "tan exception that is no std::exception";
        }
        return writeAll(descriptor, answer) ? 0 : 1;
      },
      limits);
  if (!started)
    return started.failure();
  Child &child = **started;
  child.outputMayEnd = true;
  Failure ending = *child.pump(-1, [] { return false; });
  if (ending.kind != FailureKind::exited || child.output.empty())
    return ending;
  std::string text = child.output.substr(1);
  if (child.output[0] == 'v')
    return text;
  if (child.output[0] == 'm') {
    ending.kind = FailureKind::memoryExceeded;
    ending.bytes = limits.addressSpaceBytes;
  } else {
    ending.kind = FailureKind::threw;
    ending.detail = text;
  }
  return ending;
}

} // namespace lathe::process
