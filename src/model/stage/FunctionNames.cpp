#include "stage/FunctionNames.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

namespace lathe::staging {
namespace {

/// Keywords of Python and C++, sorted; dev/gen_builder.py uses the same list.
constexpr std::string_view keywords[] = {
    "False",    "None",     "True",     "alignas",   "alignof",   "and",      "and_eq",    "as",       "asm",
    "assert",   "async",    "auto",     "await",     "bitand",    "bitor",    "bool",      "break",    "case",
    "catch",    "char",     "class",    "compl",     "concept",   "const",    "constexpr", "continue", "decltype",
    "def",      "default",  "del",      "delete",    "do",        "double",   "elif",      "else",     "enum",
    "except",   "explicit", "export",   "extern",    "false",     "finally",  "float",     "for",      "friend",
    "from",     "global",   "goto",     "if",        "import",    "in",       "inline",    "int",      "is",
    "lambda",   "long",     "mutable",  "namespace", "new",       "noexcept", "nonlocal",  "not",      "nullptr",
    "operator", "or",       "pass",     "private",   "protected", "public",   "raise",     "register", "requires",
    "return",   "short",    "signed",   "sizeof",    "static",    "struct",   "switch",    "template", "this",
    "throw",    "true",     "try",      "typedef",   "typeid",    "typename", "union",     "unsigned", "using",
    "virtual",  "void",     "volatile", "while",     "with",      "xor",      "yield"};

/// Names that the written source uses itself.
constexpr std::string_view own[] = {"Graph", "Operand", "Operands", "Value", "Values", "argc", "argv", "build",
                                    "i",     "lathe",   "main",     "net",   "range",  "run",  "std",  "str"};

/// More words that cannot be variables of the source: keywords of C++ that are not names of operators, operands or
/// attributes, and macros of its headers.
constexpr std::string_view impossible[] = {
    "EOF",           "HUGE_VAL",    "INFINITY",     "INT64_MAX", "INT64_MIN", "NAN",      "NULL",
    "char16_t",      "char32_t",    "char8_t",      "co_await",  "co_return", "co_yield", "const_cast",
    "consteval",     "constinit",   "dynamic_cast", "errno",     "not_eq",    "or_eq",    "reinterpret_cast",
    "static_assert", "static_cast", "thread_local", "wchar_t",   "xor_eq"};

} // namespace

std::string identifier(const std::string &text, const std::string &otherwise) {
  std::string name;
  for (char c : text)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  // Names with two underscores are reserved in C++.
  for (size_t at; (at = name.find("__")) != std::string::npos;)
    name.erase(at, 1);
  size_t begin = name.find_first_not_of("_");
  size_t end = name.find_last_not_of("_");
  name = begin == std::string::npos ? "" : name.substr(begin, end - begin + 1);
  if (name.size() > 60)
    name.resize(60);
  if (name.empty())
    return otherwise;
  return std::isdigit(static_cast<unsigned char>(name[0])) ? otherwise + name : name;
}

bool isReserved(const std::string &name) {
  return std::binary_search(std::begin(keywords), std::end(keywords), name) ||
         std::find(std::begin(own), std::end(own), name) != std::end(own) ||
         std::find(std::begin(impossible), std::end(impossible), name) != std::end(impossible);
}

std::string spelled(const std::string &name) {
  return std::binary_search(std::begin(keywords), std::end(keywords), name) ? name + "_" : name;
}

std::string NameTable::takeText(const std::string &wanted) {
  return used.insert(wanted).second ? wanted : take(wanted);
}

std::string NameTable::take(const std::string &wanted) {
  if (!isReserved(wanted) && used.insert(wanted).second)
    return wanted;
  for (int &last = copies.try_emplace(wanted, 1).first->second;;)
    if (std::string name = wanted + "_" + std::to_string(++last); used.insert(name).second)
      return name;
}

std::string NameTable::number(const std::string &stem) {
  bool digit = !stem.empty() && std::isdigit(static_cast<unsigned char>(stem.back()));
  std::string begin = stem + (digit ? "_" : "");
  for (int &last = numbers[begin];;)
    if (std::string name = begin + std::to_string(++last); used.insert(name).second)
      return name;
}

} // namespace lathe::staging
