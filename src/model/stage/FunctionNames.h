// Identifiers of the source: valid in Python and in C++, and unique.
#pragma once

#include <map>
#include <set>
#include <string>

namespace lathe::staging {

/// `text` in letters, digits and `_`, not beginning with a digit; `otherwise` if nothing remains.
std::string identifier(const std::string &text, const std::string &otherwise);
/// True for a keyword of Python or C++, and for a name that the written source uses itself.
bool isReserved(const std::string &name);
/// The name of an operator, operand or attribute in the builder (dev/gen_builder.py): keywords get an underscore at the
/// end.
std::string spelled(const std::string &name);

/// Names that are in use.
class NameTable {
public:
  /// `wanted`, with a number at the end if it is taken or reserved.
  std::string take(const std::string &wanted);
  /// Like `take`, for a text that need not be an identifier: no word is reserved.
  std::string takeText(const std::string &wanted);
  /// `stem` with the next free number: "conv1".
  std::string number(const std::string &stem);
  /// Takes all names of another table.
  void avoid(const NameTable &other) { used.insert(other.used.begin(), other.used.end()); }

private:
  std::set<std::string> used;
  std::map<std::string, int> copies, numbers; // the last number that `take` and `number` appended to each text
};

} // namespace lathe::staging
