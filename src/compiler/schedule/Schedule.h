// Schedules: how one kernel is computed, as data that can be printed, stored and replayed.
//
//   direct/1 px=14 oc=2 unroll=8 outer=rows
//
// The text has an algorithm with the version of its parameters, then named parameters. It is canonical: numbers come
// before words, both in the order of their names, and a parameter with its declared default is left out. Equal
// schedules have equal texts, even if a later version of Lathe declares more parameters. schedule/Algorithms.h declares
// the parameters of each algorithm. Kernel families (codegen/) choose schedules without search (the prior).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace lathe {

struct Schedule {
  std::string algorithm; // name of the algorithm, such as "direct", "gemm", "map"
  int version = 1;
  std::map<std::string, int64_t> numbers;   // values of parameters that are numbers, by name: px=14
  std::map<std::string, std::string> words; // values of parameters that are words, by name: outer=rows

  /// Value of the parameter `name`, or its declared default. Throws std::logic_error for a parameter without a
  /// declared default, so code can read no other parameters with this function.
  int64_t number(const std::string &name) const;
  std::string word(const std::string &name) const;
  /// Value of the parameter `name`, whose default depends on the problem; `fallback` if the schedule does not have it.
  /// Throws std::logic_error for other parameters.
  int64_t number(const std::string &name, int64_t fallback) const;

  /// Returns the canonical text of the schedule.
  std::string str() const;
  /// Parses the syntax of a schedule: any algorithm and parameter, each parameter once. A value in the form in which
  /// str() prints numbers is a number; every other value is a word. Throws Error with the wrong word. Texts from users
  /// go through readSchedule (schedule/Algorithms.h), which also checks names and ranges.
  static Schedule parse(const std::string &text);
  bool operator==(const Schedule &) const = default;
};

/// True if a schedule file, of lines `name: text`, can contain the name.
bool canBeListed(const std::string &name);

} // namespace lathe
