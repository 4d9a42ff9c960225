// A model as source, independent of the language (Python or C++): functions of statements that call the builder.
#pragma once

#include "support/ElementType.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lathe::staging {

/// The value of an attribute in the source.
using Literal =
    std::variant<int64_t, double, bool, std::string, ElementType, std::vector<int64_t>, std::vector<double>>;

/// True if two lists have equal bits: 0.0 differs from -0.0, and a NaN equals itself.
inline bool sameBits(const std::vector<double> &a, const std::vector<double> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y); });
}
inline bool sameLiteral(const Literal &a, const Literal &b) {
  if (auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b); x && y)
    return sameBits({*x}, {*y});
  if (auto *x = std::get_if<std::vector<double>>(&a), *y = std::get_if<std::vector<double>>(&b); x && y)
    return sameBits(*x, *y);
  return a == b;
}

/// A constant as a literal in the source. Exactly one of `integers` (also booleans) and `reals` is used; a single
/// element fills all extents.
struct ConstantLiteral {
  ElementType type = ElementType::invalid;
  std::vector<int64_t> dims;
  std::vector<int64_t> integers;
  std::vector<double> reals;

  bool operator==(const ConstantLiteral &other) const {
    return type == other.type && dims == other.dims && integers == other.integers && sameBits(reals, other.reals);
  }
};

/// An operand of a statement in the source.
struct Expression {
  enum class Kind {
    absent,
    variable, // the variable called `text`
    weight,   // a weight; its name is the prefix of the function, followed by `text`
    constant, // the literal `constant`; if `text` is not "", it names the parameter that gives the elements
    list,     // a list of `items`
  };
  Kind kind = Kind::absent;
  std::string text;
  ConstantLiteral constant = {}; // a literal; for a weight: type and extents if the file lacks the type
  std::vector<Expression> items = {};
};

/// The value of an operator's attribute, or of a function's parameter in a call. `parameter`, if not "", names the
/// parameter of the surrounding function that gives the value.
struct Argument {
  std::string name;
  Literal value;
  std::string parameter = "";
};

struct Statement {
  enum class Kind { input, output, operation, call, branch, loop };
  Kind kind = Kind::operation;
  std::vector<std::string> results; // variables that receive the results of the statement
  std::string callee;               // name of the operator or function that is called
  /// Operands of an operator, in the order of its record, a variadic operand as a list; or inputs of the function that
  /// is called.
  std::vector<Expression> operands;
  /// For an operator: attributes that differ from the default; for a call of a function: all parameters.
  std::vector<Argument> arguments;
  /// Name of the node (without the prefix), of the input or of the output. For a call of a function: the prefix.
  std::string name;
  // note for the operator that is built (OperatorNote in stage/GraphBuilder.h)
  std::vector<std::string> types, extents;
  std::string type, quantization;  // of an input or an output of the graph
  std::vector<std::string> dims;   // extents of an input of the graph
  std::vector<std::string> bodies; // names of the functions that build the bodies
  int64_t carried = 0;

  /// For a call that is repeated for i from `first` to `end` - 1: its prefix is `name`, i, `nameEnd`. Its only result
  /// replaces the variable `results[0]`, which the call also reads.
  int64_t first = 0, end = 0;
  std::string nameEnd = "";
  bool repeated() const { return end > first; }
};

struct Function {
  std::string name, comment;
  std::vector<std::string> inputs;  // variables that the function takes
  std::vector<Argument> parameters; // parameters; the default of each is its most frequent value
  std::vector<Statement> statements;
  std::vector<std::string> returned; // variables that the function returns; a graph returns none, but has outputs
  bool isGraph = false;              // true: the function is @main of the model or of a body
};

/// A model as source. Functions come before their callers; the last function builds the model.
struct Program {
  std::string name; // name of the model
  std::vector<Function> functions;
};

/// Returns the program as source in Python (C++). `file`: the name of the source file; `weights`: the name of the file
/// of weights, "" if there is none.
std::string pythonText(const Program &program, const std::string &file, const std::string &weights);
std::string cppText(const Program &program, const std::string &file, const std::string &weights);

} // namespace lathe::staging
