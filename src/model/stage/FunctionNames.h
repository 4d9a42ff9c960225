// Identifiers for staged source: valid in Python and in C++, and unique.
#pragma once

#include <map>
#include <set>
#include <string>

namespace lathe::staging {

/// Returns `text` as an identifier of letters, digits and `_`, not beginning with a digit; `otherwise` if nothing
/// remains.
std::string identifier(const std::string &text, const std::string &otherwise);
/// True for a keyword of Python or C++, and for a name that staged source uses itself.
bool isReserved(const std::string &name);
/// The spelling of an operator, operand or attribute in the builder (dev/gen_builder.py): keywords get an underscore
/// at the end.
std::string spelled(const std::string &name);

/// A table of the names that are in use in a program or function.
class NameTable {
public:
  /// Returns a free name and puts it into the table: `wanted`, with a number at the end if it is taken or reserved.
  std::string take(const std::string &wanted);
  /// Returns a free name like `take`, for a text that need not be an identifier: reserved words are allowed.
  std::string takeText(const std::string &wanted);
  /// Returns a free name like `take`, but always with a number, the next free one: "conv1" for `stem` "conv".
  std::string number(const std::string &stem);
  /// Makes all names of `other` count as taken in this table, too.
  void avoid(const NameTable &other) { used.insert(other.used.begin(), other.used.end()); }

private:
  std::set<std::string> used;
  std::map<std::string, int> copies, numbers; // last number that `take` or `number` has appended, by text
};

} // namespace lathe::staging
