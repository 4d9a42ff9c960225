// Test helper for readers of files: rounds of damaged files, for a number of seeds or for a time, with limits on time
// and memory.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

namespace lathe::damage {

/// The number in the environment variable `variable`; `fallback` if the variable is not set.
inline int64_t numberOf(const char *variable, int64_t fallback) {
  const char *text = std::getenv(variable);
  return text ? std::atoll(text) : fallback;
}

/// Processor time of this process and of its children that have ended, in seconds.
inline double processorSeconds() {
  double sum = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    getrusage(who, &usage);
    for (const timeval &time : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return sum;
}

/// The peak resident memory of this process or of one of its children, in MiB.
inline double mostMemory() {
  long most = 0; // in KiB, as getrusage counts on Linux
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    getrusage(who, &usage);
    most = std::max(most, usage.ru_maxrss);
  }
  return static_cast<double>(most) / 1024;
}

/// Rounds of a test that imports damaged files, one round per seed. The first seed is 1, the second is random;
/// LATHE_SEED gives the second one. With LATHE_FUZZ_SECONDS=S all seeds are random, until S seconds of processor time
/// have passed. A case that takes more than `mostSeconds` then fails; a case that takes `hangSeconds` ends the program
/// with the case's name. The destructor prints the number of cases and of errors, the longest case and the highest
/// memory.
class Rounds {
public:
  static constexpr double mostSeconds = 10;
  static constexpr int hangSeconds = 60;

  explicit Rounds(std::string reader)
      : reader(std::move(reader)), budget(static_cast<double>(numberOf("LATHE_FUZZ_SECONDS", 0))),
        fresh(static_cast<uint64_t>(numberOf("LATHE_SEED", static_cast<int64_t>(std::random_device()())))) {
    if (budget > 0)
      std::signal(SIGVTALRM, sayHang);
  }
  ~Rounds() {
    fmt::print(
        "{}: {} damaged files, {} refused, in {:.1f} s of processor time; longest case {:.2f} s ({}), most memory "
        "{:.0f} MiB\n",
        reader, tried, refused, processorSeconds() - begin, longest, longestCase, mostMemory());
  }
  Rounds(const Rounds &) = delete;
  Rounds &operator=(const Rounds &) = delete;

  /// Goes to the next seed and so to the next round. Returns false if no further round shall run.
  bool next() {
    ++round;
    if (budget > 0 ? over() : round > 2)
      return false;
    current = budget > 0 ? fresh + static_cast<uint64_t>(round - 1) : round == 1 ? 1 : fresh;
    if (current != 1) {
      fmt::print("{}: seed {}: LATHE_SEED repeats it\n", reader, current);
      std::fflush(stdout);
    }
    return true;
  }
  uint64_t seed() const { return current; }
  /// True if the seconds of LATHE_FUZZ_SECONDS have passed: the test may skip the rest of the round.
  bool over() const { return budget > 0 && processorSeconds() - begin >= budget; }
  int64_t cases() const { return tried; }
  int64_t errors() const { return refused; }

  /// Calls `import` for a file with the damage that `what` describes, made with the current seed; `import` returns the
  /// text of the error, or "". The error must be one line that begins with `prefix`. An import without an error passes
  /// as well, because a damaged weight is a valid number. Returns true if there is an error.
  bool refusedClearly(const std::string &what, const std::string &prefix, const std::function<std::string()> &import) {
    name = fmt::format("{}, seed {}: {}", reader, current, what);
    arm(hangSeconds);
    double started = processorSeconds();
    std::string error = import();
    double took = processorSeconds() - started;
    arm(0);
    ++tried;
    refused += !error.empty();
    if (took > longest)
      longest = took, longestCase = name;
    EXPECT_TRUE(budget == 0 || took <= mostSeconds) << name << " took " << took << " s";
    EXPECT_TRUE(error.empty() || error.starts_with(prefix)) << name << ": " << error;
    EXPECT_THAT(error, testing::Not(testing::HasSubstr("\n"))) << name;
    EXPECT_THAT(error, testing::Not(testing::HasSubstr("internal"))) << name;
    return !error.empty();
  }

private:
  std::string reader, longestCase;
  double budget, begin = processorSeconds(), longest = 0;
  uint64_t fresh, current = 0;
  int round = 0;
  int64_t tried = 0, refused = 0;
  static inline std::string name; // name of the test case that is running

  void arm(int seconds) const {
    if (budget == 0)
      return;
    itimerval timer = {};
    timer.it_value.tv_sec = seconds;
    setitimer(ITIMER_VIRTUAL, &timer, nullptr);
  }
  static void sayHang(int) {
    static constexpr char text[] = " does not end\n";
    if (write(STDERR_FILENO, name.data(), name.size()) >= 0 && write(STDERR_FILENO, text, sizeof text - 1) >= 0)
      _exit(124);
    _exit(125);
  }
};

} // namespace lathe::damage
