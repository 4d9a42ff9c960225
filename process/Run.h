// Whole programs and single functions run elsewhere, with an outcome that is always a value.
#pragma once

#include "process/Child.h"

namespace lathe::process {

struct Finished {
  int exitCode = 0;
  std::string output;
  std::string stderrTail;
  Usage usage;
};

/// Runs a program to its end. Any exit code is a value; signals and limits are failures.
Result<Finished> run(const Command &command, const Limits &limits = {}, const std::string &input = "");

/// Runs `function` in a forked child and returns its text. An exception becomes `threw` (std::bad_alloc:
/// `memoryExceeded`), a call of exit `exited`. For fuzz-like tests: only the calling thread exists in the child, so the
/// function must not wait for threads started before.
Result<std::string> runForked(const std::string &who, const std::function<std::string()> &function,
                              const Limits &limits = {});

} // namespace lathe::process
