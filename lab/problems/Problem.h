// One operator to be computed alone, with the extents and types of its operands and its attributes: what the laboratory
// gives to every provider.
//
// Its text is one line of words: the operator's name as the dialect has it (docs/generated/operators.md), operands,
// attributes that are not at their default, and what is applied to the result:
//
//   conv x=1x64x56x56 w=64x64x3x3:const b=64:const strides=1,1 dilations=1,1 pads=1,1,1,1 +add +relu
//
// What is applied is an element-wise operator of one operand, or one of two whose second operand has the result's
// extents and type, as a residual connection has.
//
// Shorter ways to write the usual ones, benchdnn's among them: lab/problems/ProblemSyntax.h.
#pragma once

#include "ops/Registry.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::lab {

/// Of docs/provider-protocol.md, which carries problems.
constexpr int providerProtocolVersion = 2;

/// Written NAME=DIMS[:TYPE][:const][:LOW..HIGH]; DIMS is "1x64x56x56", or "scalar"; the type is f32 where not written.
struct ProblemOperand {
  std::string name; // of the operator's record; a variadic one may come several times
  ElementType type = ElementType::f32;
  std::vector<int64_t> dims;
  bool constant = false; // known before the run, as weights are: may be packed while preparing
  /// Values lie in [low, high); integers are whole. Where both are equal: [-1, 1) for floats, {0, 1} for others.
  double low = 0, high = 0;

  int64_t elements() const;
  bool operator==(const ProblemOperand &) const = default;
};

struct Problem {
  std::string op;                       // "conv"
  std::shared_ptr<const Attrs> attrs;   // of the operator's struct
  std::vector<ProblemOperand> operands; // in the record's order; optional ones may be missing
  std::vector<std::string> epilogue;    // element-wise operators, applied to the first result in turn

  /// Throws Error naming the word that is wrong and what was expected. What it returns has been checked.
  static Problem parse(const std::string &text);
  /// The same line, always in the same order: equal problems have equal texts.
  std::string str() const;

  template <class T> const T &attrsAs() const { return static_cast<const T &>(*attrs); }
  const ProblemOperand *operand(std::string_view name) const; // null where it is missing
  /// Operands by position in the record, null where one is missing; a variadic one's come last.
  std::vector<const ProblemOperand *> byRecord() const;
  /// Everything the problem computes on, as it is handed to providers: operands by position in the record (none where
  /// one is missing), then the second operands of the epilogue. Each has a name of its own: that of the second operand
  /// of a variadic one is NAME.1, that of what the epilogue's operator number N takes is epilogue.N.
  std::vector<std::optional<ProblemOperand>> inputs() const;
  const OpRecord &record() const;

  /// Types and extents of the results by the operator's shape function. Throws Error (with the violated constraint).
  std::vector<ProblemOperand> results() const;
  /// Nominal operations as the record counts them (a multiply-accumulate is two), without the epilogue.
  double flops() const;
  /// Bytes of all inputs and results, each once: what must move at the least when nothing is in a cache.
  double bytes() const;
  /// Bytes of the operands that are constant.
  double constantBytes() const;
  /// How results are grouped: "3x3", "1x1", "depthwise", "strided" or "other" for convolutions, else the operator.
  std::string kind() const;

  /// Throws Error unless the operator exists and its constraints hold; `where` begins the message.
  void check(const std::string &where) const;
};

/// Every attribute by its name, defaults included; a number that JSON has none for is "inf", "-inf" or "nan".
nlohmann::json toJson(const Attrs &attrs);
/// {"op", "attrs": {...}, "operands": [{"name", "type", "dims", "constant", "low", "high"}], "epilogue": [...]}
nlohmann::json toJson(const Problem &problem);
/// Throws nlohmann::json::exception for missing fields, Error for what does not fit.
Problem problemFromJson(const nlohmann::json &document);

/// True of element-wise operators of two operands that an epilogue may apply, the result being the first of them: add,
/// sub, mul.
bool takesSecondOperand(std::string_view epilogueOperator);

/// The parts of a text between separators: at least one, which may be empty.
std::vector<std::string> split(const std::string &text, char separator);

} // namespace lathe::lab
