// Shared by both languages of staged source: wrapped lines, numbers and comments.
#pragma once

#include "stage/Program.h"

#include <string>
#include <vector>

namespace lathe::staging {

/// Writes a call: `head`, the arguments with commas between them, and `tail`. Lines wrap after 100 columns and continue
/// with four more spaces.
std::string wrapped(const std::string &indent, const std::string &head, const std::vector<std::string> &arguments,
                    const std::string &tail);

/// A finite number, written so that both languages read the same double.
std::string realText(double value);

/// `text` on one line, without characters that could end a comment.
std::string commentText(const std::string &text);

/// True for an operator with exactly one result that is not a list.
bool hasOneResult(const std::string &mnemonic);

/// An operand of an operator with its name in the record; "" for an operator without a record.
struct NamedOperand {
  const Expression *expression;
  std::string name;
  bool optional;
};
std::vector<NamedOperand> namedOperands(const Statement &statement);

} // namespace lathe::staging
