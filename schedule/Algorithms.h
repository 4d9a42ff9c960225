// The one declaration of every algorithm of a schedule: its parameters, what they mean, their legal values, their
// defaults and the constraints between them.
//
// Readers of schedules, their messages, the code of the families (Schedule::number), docs/generated/schedules.md, random
// schedules of tests and `compile --export-space` all use it. A range holds for every problem and target. Which values
// within a range are legal for one kernel is said by `legal` (codegen/space/KernelFacts.h), which names the constraint
// that a schedule breaks.
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
  const char *meaning;   // with its unit: the same in every algorithm that has a parameter of this name
  const char *note = ""; // what of it in this algorithm: "rows are tiles"
  Kind kind = Kind::number;
  int64_t least = 0, most = 0;          // of a number, inclusive
  bool powerOfTwo = false;              // of a number: no other values
  std::vector<const char *> words = {}; // of a word; the first one is the default
  std::optional<int64_t> defaultNumber = {};
  const char *defaultText = ""; // where the default depends on the problem, or there is none: what it is

  /// The default does not depend on the problem.
  bool hasDefault() const { return kind == Kind::word ? *defaultText == 0 : defaultNumber.has_value(); }
  /// Meaning and note: "rows of a register block, at most (rows are tiles)".
  std::string description() const;
  /// A number within the range.
  bool allows(int64_t value) const;
  /// "a whole number from 1 to 64", "0 or 1", "rows or channels", "the name of a node".
  std::string values() const;
};

/// What makes a schedule of an algorithm illegal for a problem or a target. Values within their ranges can break it.
struct Constraint {
  const char *id;   // stable within the algorithm
  const char *text; // what holds of a legal schedule
};

/// An earlier version of an algorithm, and its parameters that have other names now: old, new.
struct FormerVersion {
  int version;
  std::vector<std::pair<const char *, const char *>> renamed;
};

struct Algorithm {
  const char *name;
  int version;
  const char *family; // whose kernels it computes (KernelFamily::name); "" for choices above kernels
  const char *summary;
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints = {};
  std::vector<FormerVersion> former = {};

  /// The constraint called `id`; throws std::logic_error where it is not declared.
  const Constraint &constraint(std::string_view id) const;
  const Parameter *find(std::string_view parameter) const;
  std::string str() const; // "softmax/1"
};

/// All of them, by family.
const std::vector<Algorithm> &algorithms();
/// Null where there is none.
const Algorithm *findAlgorithm(std::string_view name, int version);

/// A schedule of the algorithm's declared version without parameters. Throws std::logic_error where there is none.
Schedule emptySchedule(std::string_view algorithm);

/// The algorithm of a schedule each of whose parameters is declared and within its range. Throws Error that names the
/// schedule, the parameter, what was expected and what was given; of a former version, the new names.
const Algorithm &validate(const Schedule &schedule);

/// Schedule::parse and validate: the way in for every schedule from outside.
Schedule readSchedule(const std::string &text);

/// What `lathe help schedules` prints: every algorithm, or the parameters and constraints of one ("gemm" or "gemm/2").
/// Throws Error for a name that no algorithm has.
std::string schedulesHelp();
std::string schedulesHelp(const std::string &name);

/// docs/generated/schedules.md.
std::string schedulesPage();

} // namespace lathe
