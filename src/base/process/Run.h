// Runs a program or a function in another process. Every outcome is a value.
#pragma once

#include "process/Child.h"

namespace lathe::process {

struct Finished {
  int exitCode = 0;
  std::string output;
  std::string stderrTail;
  Usage usage;
};

/// Runs a program in another process to its end. Any exit code is a value; signals and exceeded limits are failures.
Result<Finished> run(const Command &command, const Limits &limits = {}, const std::string &input = "");

/// Runs `function` in a forked child and returns its text. An exception becomes the failure `threw`
/// (std::bad_alloc: `memoryExceeded`), a call of exit becomes `exited`. For fuzz-like tests. Only
/// the calling thread exists in the child, so the function must not wait for other threads.
Result<std::string> runForked(const std::string &who, const std::function<std::string()> &function,
                              const Limits &limits = {});

} // namespace lathe::process
