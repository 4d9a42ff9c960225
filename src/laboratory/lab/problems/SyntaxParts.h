// Parsers for parts of the short texts of problems.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace lathe::lab {

/// A descriptor in benchdnn's syntax: letters and a number, repeated ("mb1ic64ih56"). Underscores and a name
/// (n"conv1") are skipped.
class Letters {
public:
  /// Parses a descriptor. Throws Error, which does not say where the text stands, for keys outside `known` and for
  /// repeated keys.
  Letters(const std::string &text, std::initializer_list<const char *> known);
  bool has(const std::string &key) const { return given.count(key) != 0; }
  /// The number after a key of the descriptor. Throws Error if the key is missing.
  int64_t get(const std::string &key) const;
  int64_t get(const std::string &key, int64_t fallback) const { return has(key) ? get(key) : fallback; }

private:
  std::map<std::string, int64_t> given;
};

/// Parses extents such as "1x64x56x56". Throws Error for a text of another form.
std::vector<int64_t> dimsOf(const std::string &text);
std::string joined(const std::vector<int64_t> &values, const char *separator);
/// Splits a text such as "a:b:c" at colons into `least` to `most` parts. Throws Error with `form` for another number
/// of parts.
std::vector<std::string> parts(const std::string &text, size_t least, size_t most, const char *form);

} // namespace lathe::lab
