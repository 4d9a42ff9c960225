// The program that calls jobs. Jobs print nothing: what people should know goes through the caller.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace lathe::jobs {

/// Words of a command line after the verb.
using Arguments = std::vector<std::string>;

struct Caller {
  std::string verb;                 // that the user typed; programs that jobs start speak as this verb
  std::atomic<bool> silent = false; // programs that jobs start print no progress
  /// Receives a line for people.
  std::function<void(const std::string &line)> note = [](const std::string &) {};
  /// Receives the reason why a program that a job started has ended, where that program could not state it.
  std::function<void(const std::string &reason)> childEnded = [](const std::string &) {};
};

/// The caller of this process.
Caller &caller();

/// Passes a line on, but only the first time in a command and the processes that it starts. `variable`: of the environment,
/// in which this is remembered.
void noteOnce(const char *variable, const std::string &line);

} // namespace lathe::jobs
