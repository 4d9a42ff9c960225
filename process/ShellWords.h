// Words as a POSIX shell reads them, and a command line that it reads back.
#pragma once

#include <string>
#include <vector>

namespace lathe::process {

struct ShellWords {
  std::vector<std::string> words;
  std::string problem; // why the text is no list of words ("a quote ' is not closed"); empty when it is one
};

/// Splits `text` as a POSIX shell does (Shell Command Language, 2.2 Quoting): 'literal', "literal but for \", \\, \$
/// and \`", \c. Nothing is expanded: $, *, ~ and operators such as | stand for themselves.
ShellWords splitShellWords(const std::string &text);

/// One word for a shell: quoted where it has to be.
std::string shellQuoted(const std::string &word);

/// Words joined by spaces, each quoted where it has to be.
std::string shellCommand(const std::vector<std::string> &words);

} // namespace lathe::process
