// A problem: one operator with the extents and types of its operands and its attributes. The laboratory gives problems
// to providers.
//
// The text of a problem is one line of words: the operator's name (docs/generated/operators.md), operands, attributes
// that differ from their defaults, and the epilogue:
//
//   conv x=1x64x56x56 w=64x64x3x3:const b=64:const strides=1,1 dilations=1,1 pads=1,1,1,1 +add +relu
//
// The epilogue is a list of element-wise operators with one operand, or with a second operand that has the extents and
// type of the result (a residual connection).
//
// lab/problems/ProblemSyntax.h has short texts for common problems, in the syntax of benchdnn.
#pragma once

#include "ops/Registry.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::lab {

/// Version of the provider protocol (docs/provider-protocol.md), in which requests contain problems.
constexpr int providerProtocolVersion = 2;

/// An operand of a problem, written NAME=DIMS[:TYPE][:const][:LOW..HIGH]. DIMS is "1x64x56x56" or "scalar"; the
/// default type is f32.
struct ProblemOperand {
  std::string name; // name in the operator's record; a variadic operand may occur several times
  ElementType type = ElementType::f32;
  std::vector<int64_t> dims;
  // the operand is known before the run, like weights; the provider may pack it while preparing
  bool constant = false;
  /// Range of the operand's values: [low, high); integers are whole numbers of this range. low == high means [-1, 1)
  /// for floats and {0, 1} for integers.
  double low = 0, high = 0;

  int64_t elements() const;
  bool operator==(const ProblemOperand &) const = default;
};

struct Problem {
  std::string op;                       // name of the operator, such as "conv"
  std::shared_ptr<const Attrs> attrs;   // the operator's attribute struct
  std::vector<ProblemOperand> operands; // in the order of the operator's record; optional operands may be missing
  std::vector<std::string> epilogue;    // element-wise operators, applied to the first result in turn

  /// Parses the text of a problem and checks it. Throws Error with the wrong word and what was expected.
  static Problem parse(const std::string &text);
  /// The text of the problem in canonical order: equal problems have equal texts.
  std::string str() const;

  template <class T> const T &attrsAs() const { return static_cast<const T &>(*attrs); }
  const ProblemOperand *operand(std::string_view name) const; // operand called `name`; null: missing
  /// Operands by position in the operator's record; null: a missing operand. Values of a variadic operand come last.
  std::vector<const ProblemOperand *> byRecord() const;
  /// All inputs in the order in which providers receive them: operands by position in the record
  /// (empty: missing), then second operands of the epilogue. Names are unique: the second value of
  /// a variadic operand is NAME.1, the operand of epilogue operator number N is epilogue.N.
  std::vector<std::optional<ProblemOperand>> inputs() const;
  const OpRecord &record() const;

  /// Types and extents of the problem's results, from the shape function; extents that depend on the operands' values
  /// are 0. Throws Error with the violated constraint.
  std::vector<ProblemOperand> results() const;
  /// Number of nominal operations of the problem, from the operator's record (a multiply-accumulate counts as two, a
  /// tap in padding as zero), without the epilogue.
  double flops() const;
  /// Bytes of all inputs and results of the problem, each counted once: the compulsory memory traffic.
  double bytes() const;
  /// Bytes of all constant operands of the problem.
  double constantBytes() const;
  /// Name of the group in which summaries count the problem: "3x3", "1x1", "depthwise", "strided" or "other" for
  /// convolutions, else the operator.
  std::string kind() const;

  /// Checks the problem. Throws Error, beginning with `where`, unless the operator exists and its constraints hold.
  void check(const std::string &where) const;
};

/// All attributes of an operator by name as JSON, also those with default values. Numbers without a JSON form are
/// "inf", "-inf" or "nan".
nlohmann::json toJson(const Attrs &attrs);
/// JSON of a problem: {"op", "attrs": {...}, "operands": [{"name", "type", "dims", "constant", "low", "high"}],
/// "epilogue": [...]}.
nlohmann::json toJson(const Problem &problem);
/// Reads a problem from the JSON that toJson makes. Throws nlohmann::json::exception for missing fields and Error for
/// invalid values.
Problem problemFromJson(const nlohmann::json &document);

/// True for the operators add, sub and mul, which an epilogue may apply with a second operand; the result of the
/// problem is their first operand.
bool takesSecondOperand(std::string_view epilogueOperator);

/// Splits a text at each separator. Returns at least one part; parts may be empty.
std::vector<std::string> split(const std::string &text, char separator);

} // namespace lathe::lab
