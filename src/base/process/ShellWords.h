// Splits and quotes POSIX shell words.
#pragma once

#include <string>
#include <vector>

namespace lathe::process {

struct ShellWords {
  std::vector<std::string> words;
  std::string problem; // the syntax error ("a quote ' is not closed"); empty if there is none
};

/// Splits `text` as a POSIX shell does (Shell Command Language, 2.2 Quoting): '...' is literal;
/// "..." is literal except for \", \\, \$ and \`; \c is c. Nothing is expanded: $, *, ~ and
/// operators such as | stand for themselves.
ShellWords splitShellWords(const std::string &text);

/// Returns `word`, quoted for a shell if necessary.
std::string shellQuoted(const std::string &word);

/// Returns `words` joined by spaces to a shell command, each quoted if necessary.
std::string shellCommand(const std::vector<std::string> &words);

} // namespace lathe::process
