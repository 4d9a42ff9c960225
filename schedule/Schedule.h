// A schedule is data: how one kernel is computed. Printable, storable, replayable.
//
//   direct/1 px=14 oc=2 unroll=8 parallel=rows
//
// An algorithm with the version of its parameters' meaning, then named parameters. Which parameters an algorithm has,
// their legal values and the choice made without search (the prior) belong to the kernel family (codegen/<Family>.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace lathe {

struct Schedule {
  std::string algorithm; // "direct", "gemm", "map", ...
  int version = 1;
  std::map<std::string, int64_t> numbers;   // px=14
  std::map<std::string, std::string> words; // parallel=rows

  int64_t number(const std::string &name, int64_t fallback) const;
  std::string word(const std::string &name, const std::string &fallback) const;

  std::string str() const;
  /// Throws Error naming the offending word.
  static Schedule parse(const std::string &text);
  bool operator==(const Schedule &) const = default;
};

} // namespace lathe
