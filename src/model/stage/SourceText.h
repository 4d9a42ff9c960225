// What the printers of staged source in both languages share: wrapped lines, numbers and comments.
#pragma once

#include "stage/Program.h"

#include <string>
#include <vector>

namespace lathe::staging {

/// Prints a call: `head`, the arguments with commas between them, and `tail`. Lines wrap after 100 columns and
/// continue with four more spaces.
std::string wrapped(const std::string &indent, const std::string &head, const std::vector<std::string> &arguments,
                    const std::string &tail);

/// Prints a finite number, so that Python and C++ read the same double.
std::string realText(double value);

/// Prints `text` on one line, without characters that could end a comment.
std::string commentText(const std::string &text);

/// True for an operator whose record has exactly one result that is not a list.
bool hasOneResult(const std::string &mnemonic);

/// An operand in a statement, with its name in the operator's record; "" for an operator without a record.
struct NamedOperand {
  const Expression *expression;
  std::string name;
  bool optional;
};
std::vector<NamedOperand> namedOperands(const Statement &statement);

} // namespace lathe::staging
