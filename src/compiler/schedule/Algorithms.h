// Declarations of all algorithms of schedules: parameters, their meanings, legal values and
// defaults, and the constraints between them.
//
// The declarations are used by the reader of schedules and its messages, the code of the families
// (Schedule::number), docs/generated/schedules.md, the random schedules of tests and `compile
// --export-space`. A range holds for every problem and target. `legal`
// (codegen/space/KernelFacts.h) decides which values within the ranges are legal for one kernel and
// names the constraint that a schedule breaks.
#pragma once

#include "schedule/Schedule.h"

#include <optional>
#include <string_view>
#include <vector>

namespace lathe {

struct Parameter {
  enum class Kind {
    number, // the value is a whole number
    word,   // the value is one of a list of words
    name    // the value is the name of a node: any text
  };
  enum Role : unsigned { // bits: what a search may do with the parameter
    registerRows = 1,    // the parameter is the number of rows in a register block
    // the parameter is the number of vectors in a row of a register block; changes together with the rows, because
    // both need registers
    registerVectors = 2,
    cutsItems = 4,     // the parameter changes the division into work items
    changesResults = 8 // the parameter changes the results, such as their rounding
  };
  const char *name;
  /// Meaning of the parameter's value, with its unit; equal for all algorithms that have a parameter of this name.
  const char *meaning;
  const char *note = ""; // addition to the meaning for this algorithm, such as "rows are tiles"
  Kind kind = Kind::number;
  int64_t least = 0, most = 0;          // for a number: smallest and largest value
  bool powerOfTwo = false;              // for a number: true if it must be a power of two
  std::vector<const char *> words = {}; // for a word: its possible values, the default first
  std::optional<int64_t> defaultNumber = {};
  // text about a default that depends on the problem, or about the absence of a default
  const char *defaultText = "";
  unsigned roles = 0; // bits of Role

  /// True if the parameter has a default that is equal for all problems.
  bool hasDefault() const { return kind == Kind::word ? *defaultText == 0 : defaultNumber.has_value(); }
  /// Meaning and note of the parameter as text: "rows per register block, at most (rows are tiles)".
  std::string description() const;
  bool is(Role role) const { return roles & role; }
  /// True for a number within the parameter's range.
  bool allows(int64_t value) const;
  /// The legal values of the parameter as text: "a whole number from 1 to 64", "0 or 1", "rows or channels", "the name
  /// of a node".
  std::string values() const;
};

/// A condition on the schedules of an algorithm, which depends on the problem and the target. A schedule whose values
/// are all within their ranges can still violate it and is then illegal.
struct Constraint {
  const char *id;   // name of the constraint, unique within the algorithm
  const char *text; // the condition in words
};

/// Limits on a ratio: predicted cost of a schedule / predicted cost of the hand rules' schedule. Predictions choose
/// the schedule only if the ratio is at most the margin (docs/notes/prior.md).
struct Margins {
  /// Margin for two schedules of the same algorithm. The hand rules were found by measuring, and the lowest of
  /// hundreds of predictions is usually one that errs: predicted savings of up to a quarter were not real.
  double own = 0.7;
  /// Margin for schedules of two algorithms, of which the smaller one counts: another algorithm must be worth the
  /// change.
  double change = 0.7;
};

/// An earlier version of an algorithm, and its renamed parameters as (old, new).
struct FormerVersion {
  int version;
  std::vector<std::pair<const char *, const char *>> renamed;
};

struct Algorithm {
  const char *name;
  int version;
  const char *family; // kernel family (KernelFamily::name); "" for choices of layout and fusion
  const char *summary;
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints = {};
  std::vector<FormerVersion> former = {};
  Margins margins = {};

  /// Returns the constraint of this algorithm with the id `id`. Throws std::logic_error if it is not declared.
  const Constraint &constraint(std::string_view id) const;
  const Parameter *find(std::string_view parameter) const;
  std::string str() const; // name and version, such as "softmax/1"
};

/// All algorithms, grouped by kernel family.
const std::vector<Algorithm> &algorithms();
/// Returns the algorithm with this name and version; null if there is none.
const Algorithm *findAlgorithm(std::string_view name, int version);

/// Returns a schedule without parameters, of the algorithm's current version. Throws
/// std::logic_error for an unknown algorithm.
Schedule emptySchedule(std::string_view algorithm);

/// Checks that every parameter of a schedule is declared and within its range, and returns the
/// algorithm. Throws Error with the schedule, the parameter, expected and given value; for a former
/// version, with the new names.
const Algorithm &validate(const Schedule &schedule);

/// Parses the text of a schedule and validates it. Every schedule from outside of the program goes through this
/// function.
Schedule readSchedule(const std::string &text);
/// The canonical text of a schedule (Schedule::str); the text itself if this version cannot read it.
std::string canonicalSchedule(const std::string &text);

/// The text of `lathe help schedules`: all algorithms, or the parameters and constraints of the algorithm `name`
/// ("gemm" or "gemm/2"). Throws Error for an unknown name.
std::string schedulesHelp();
std::string schedulesHelp(const std::string &name);

/// Returns the text of docs/generated/schedules.md.
std::string schedulesPage();

} // namespace lathe
