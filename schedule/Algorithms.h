// The one declaration of every algorithm of a schedule: its parameters, what they mean, their legal values and
// defaults.
//
// Readers of schedules, their messages, the code of the families (Schedule::number) and docs/generated/schedules.md all
// go by it. A range holds for every problem and target; what a problem or a target allows within the range is the
// family's to say when it declines.
#pragma once

#include "schedule/Schedule.h"

#include <optional>
#include <string_view>
#include <vector>

namespace lathe {

struct Parameter {
  enum class Kind {
    number, // a whole number
    word,   // one of a list
    name    // of a node: any text
  };
  const char *name;
  const char *meaning; // with its unit
  Kind kind = Kind::number;
  int64_t least = 0, most = 0;          // of a number, inclusive
  bool powerOfTwo = false;              // of a number: no other values
  std::vector<const char *> words = {}; // of a word; the first one is the default
  std::optional<int64_t> defaultNumber = {};
  const char *defaultText = ""; // where the default depends on the problem, or there is none: what it is

  /// The default does not depend on the problem.
  bool hasDefault() const { return kind == Kind::word ? *defaultText == 0 : defaultNumber.has_value(); }
  /// "a whole number from 1 to 64", "0 or 1", "rows or channels", "the name of a node".
  std::string values() const;
};

struct Algorithm {
  const char *name;
  int version;
  const char *family; // whose kernels it computes (KernelFamily::name); "" for choices above kernels
  const char *summary;
  std::vector<Parameter> parameters;

  const Parameter *find(std::string_view parameter) const;
  std::string str() const; // "softmax/1"
};

/// All of them, by family.
const std::vector<Algorithm> &algorithms();
/// Null where there is none.
const Algorithm *findAlgorithm(std::string_view name, int version);

/// The algorithm of a schedule each of whose parameters is declared and within its range. Throws Error that names the
/// schedule, the parameter, what was expected and what was given.
const Algorithm &validate(const Schedule &schedule);

/// Schedule::parse and validate: the way in for every schedule from outside.
Schedule readSchedule(const std::string &text);

/// docs/generated/schedules.md.
std::string schedulesPage();

} // namespace lathe
