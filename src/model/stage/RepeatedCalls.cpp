#include "stage/RepeatedCalls.h"

#include <algorithm>
#include <map>
#include <optional>

namespace lathe::staging {
namespace {

constexpr size_t fewestCalls = 2;

/// A prefix, split at its last number: "layer3." 1 ".".
struct NumberedPrefix {
  std::string begin, end;
  int64_t number;
};

std::optional<NumberedPrefix> numbered(const std::string &prefix) {
  size_t last = prefix.find_last_of("0123456789");
  if (last == std::string::npos)
    return std::nullopt;
  size_t first = prefix.find_last_not_of("0123456789", last);
  first = first == std::string::npos ? 0 : first + 1;
  std::string digits = prefix.substr(first, last + 1 - first);
  if (digits.size() > 9 || (digits.size() > 1 && digits[0] == '0'))
    return std::nullopt;
  return NumberedPrefix{prefix.substr(0, first), prefix.substr(last + 1), std::stoll(digits)};
}

bool isVariable(const Expression &expression, const std::string &name) {
  return expression.kind == Expression::Kind::variable && expression.text == name;
}

bool same(const Expression &a, const Expression &b) {
  return a.kind == b.kind && a.text == b.text && a.constant == b.constant && a.items.empty() && b.items.empty();
}

/// True if `next` is the call after `before`: it reads the result of `before` where `start` reads the variable `from`.
bool follows(const Statement &start, const Statement &before, const Statement &next, const std::string &from) {
  if (next.kind != Statement::Kind::call || next.callee != start.callee || next.results.size() != 1 ||
      next.operands.size() != start.operands.size())
    return false;
  auto a = numbered(before.name), b = numbered(next.name);
  if (!a || !b || a->begin != b->begin || a->end != b->end || b->number != a->number + 1)
    return false;
  for (size_t i = 0; i < start.arguments.size(); ++i)
    if (!sameLiteral(start.arguments[i].value, next.arguments[i].value))
      return false;
  for (size_t i = 0; i < start.operands.size(); ++i)
    if (isVariable(start.operands[i], from) ? !isVariable(next.operands[i], before.results[0])
                                            : !same(start.operands[i], next.operands[i]))
      return false;
  return true;
}

void countReads(const Expression &expression, std::map<std::string, size_t> &reads) {
  if (expression.kind == Expression::Kind::variable)
    ++reads[expression.text];
  for (const Expression &item : expression.items)
    countReads(item, reads);
}

void rename(Expression &expression, const std::string &from, const std::string &to) {
  if (isVariable(expression, from))
    expression.text = to;
  for (Expression &item : expression.items)
    rename(item, from, to);
}

size_t readsIn(const Statement &statement, const std::string &name) {
  std::map<std::string, size_t> reads;
  for (const Expression &operand : statement.operands)
    countReads(operand, reads);
  return reads[name];
}

} // namespace

void repeatCalls(Function &function) {
  std::vector<Statement> &all = function.statements;
  std::map<std::string, size_t> reads;
  for (const Statement &statement : all)
    for (const Expression &operand : statement.operands)
      countReads(operand, reads);
  for (size_t at = 0; at < all.size(); ++at) {
    const Statement &start = all[at];
    if (start.kind != Statement::Kind::call || start.results.size() != 1)
      continue;
    auto passed = std::find_if(start.operands.begin(), start.operands.end(),
                               [](const Expression &operand) { return operand.kind == Expression::Kind::variable; });
    if (passed == start.operands.end())
      continue;
    std::string from = passed->text;
    // No other statement may read the variable that the loop overwrites.
    if (reads[from] != readsIn(start, from))
      continue;
    size_t end = at + 1;
    while (end < all.size() && follows(start, all[end - 1], all[end], from) &&
           reads[all[end - 1].results[0]] == readsIn(all[end], all[end - 1].results[0]))
      ++end;
    if (end - at < fewestCalls)
      continue;
    std::string last = all[end - 1].results[0];
    Statement loop = start;
    NumberedPrefix prefix = *numbered(start.name);
    loop.name = prefix.begin;
    loop.nameEnd = prefix.end;
    loop.first = prefix.number;
    loop.end = loop.first + static_cast<int64_t>(end - at);
    loop.results = {from};
    all[at] = loop;
    all.erase(all.begin() + static_cast<int64_t>(at) + 1, all.begin() + static_cast<int64_t>(end));
    for (size_t behind = at + 1; behind < all.size(); ++behind)
      for (Expression &operand : all[behind].operands)
        rename(operand, last, from);
    reads[from] = readsIn(loop, from) + reads[last];
  }
}

} // namespace lathe::staging
