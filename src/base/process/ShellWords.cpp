#include "process/ShellWords.h"

#include <string_view>

namespace lathe::process {
namespace {

constexpr std::string_view blanks = " \t\n";

/// One reading of a text.
class Splitter {
public:
  explicit Splitter(const std::string &text) : text(text) {}

  ShellWords split() {
    while (at < text.size() && result.problem.empty()) {
      char c = text[at++];
      if (blanks.find(c) != blanks.npos)
        endWord();
      else if (c == '\'')
        quoted();
      else if (c == '"')
        doublyQuoted();
      else if (c == '\\')
        escaped();
      else
        take(c);
    }
    endWord();
    return std::move(result);
  }

private:
  void take(char c) {
    word += c;
    inWord = true;
  }

  void endWord() {
    if (inWord)
      result.words.push_back(std::move(word));
    word.clear();
    inWord = false;
  }

  void quoted() {
    size_t end = text.find('\'', at);
    if (end == text.npos) {
      result.problem = "a quote ' is not closed";
      return;
    }
    word += text.substr(at, end - at);
    inWord = true;
    at = end + 1;
  }

  void doublyQuoted() {
    inWord = true;
    while (at < text.size() && text[at] != '"') {
      bool escape = text[at] == '\\' && at + 1 < text.size();
      char next = escape ? text[at + 1] : '\0';
      if (escape && (next == '$' || next == '`' || next == '"' || next == '\\' || next == '\n')) {
        if (next != '\n')
          word += next;
        at += 2;
      } else {
        word += text[at++];
      }
    }
    if (at == text.size())
      result.problem = "a quote \" is not closed";
    else
      ++at;
  }

  void escaped() {
    if (at == text.size())
      result.problem = "a backslash at the end escapes nothing";
    else if (text[at] != '\n') // which continues the line
      take(text[at]);
    ++at;
  }

  const std::string &text;
  size_t at = 0;
  std::string word;
  bool inWord = false;
  ShellWords result;
};

} // namespace

ShellWords splitShellWords(const std::string &text) { return Splitter(text).split(); }

std::string shellQuoted(const std::string &word) {
  static constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos)
    return word;
  std::string quoted = "'";
  for (char c : word)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string shellCommand(const std::vector<std::string> &words) {
  std::string command;
  for (const std::string &word : words)
    command += (command.empty() ? "" : " ") + shellQuoted(word);
  return command;
}

} // namespace lathe::process
