// A schedule is data: how one kernel is computed. Printable, storable, replayable.
//
//   direct/1 px=14 oc=2 unroll=8 outer=rows
//
// An algorithm with the version of its parameters' meaning, then named parameters. schedule/Algorithms.h declares which
// parameters an algorithm has, what they mean and which values they take. The choice made without search (the prior)
// belongs to the kernel family (codegen/).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace lathe {

struct Schedule {
  std::string algorithm; // "direct", "gemm", "map", ...
  int version = 1;
  std::map<std::string, int64_t> numbers;   // px=14
  std::map<std::string, std::string> words; // outer=rows

  /// The parameter's value, or the default that its algorithm declares. Throws std::logic_error for a parameter that
  /// the algorithm does not declare with a default of its own: code may read nothing else.
  int64_t number(const std::string &name) const;
  std::string word(const std::string &name) const;
  /// For parameters whose default depends on the problem: the declaration has none. Throws std::logic_error otherwise.
  int64_t number(const std::string &name, int64_t fallback) const;

  std::string str() const;
  /// Reads the syntax only: it accepts any algorithm and any parameter, each parameter once. A value in the form that
  /// str() gives numbers is a number; every other value is a word. Throws Error that names the wrong word. Text from
  /// users goes through readSchedule (schedule/Algorithms.h), which also checks names and ranges.
  static Schedule parse(const std::string &text);
  bool operator==(const Schedule &) const = default;
};

} // namespace lathe
