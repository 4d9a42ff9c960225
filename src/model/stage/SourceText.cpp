#include "stage/SourceText.h"

#include "ops/Registry.h"

#include <fmt/format.h>

#include <cctype>

namespace lathe::staging {
namespace {

constexpr size_t columns = 100;

} // namespace

std::string wrapped(const std::string &indent, const std::string &head, const std::vector<std::string> &arguments,
                    const std::string &tail) {
  std::string text, line = indent + head;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string piece = arguments[i] + (i + 1 < arguments.size() ? "," : tail);
    bool follows = i > 0;
    if (line.size() + follows + piece.size() > columns && line.size() > indent.size() + 4) {
      text += line + "\n";
      line = indent + "    " + piece;
    } else {
      line += (follows ? " " : "") + piece;
    }
  }
  return text + line + (arguments.empty() ? tail : "") + "\n";
}

std::string realText(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string commentText(const std::string &text) {
  std::string result;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    bool plain =
        std::isalnum(byte) || (byte < 128 && std::string_view(" _.,:-+/()[]{}#=<>").find(c) != std::string_view::npos);
    result += plain ? c : '_';
  }
  return result;
}

bool hasOneResult(const std::string &mnemonic) {
  const OpRecord *record = findOp(mnemonic);
  return !record || (record->results.size() == 1 && !record->variadicResult);
}

std::vector<NamedOperand> namedOperands(const Statement &statement) {
  const OpRecord *record = findOp(statement.callee);
  std::vector<NamedOperand> operands;
  for (size_t i = 0; i < statement.operands.size(); ++i) {
    bool known = record && i < record->operands.size();
    operands.push_back(
        {&statement.operands[i], known ? record->operands[i].name : "", known && record->operands[i].optional});
  }
  return operands;
}

} // namespace lathe::staging
