// Makes names unique by appending numbers.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace lathe {

class UniqueNames {
public:
  /// `separator` stands between a name and its number: "conv_1", "conv:1".
  explicit UniqueNames(std::string_view separator) : separator(separator) {}

  /// Returns a name that was not returned before: `wanted`, or `wanted` with the smallest number that makes it new.
  /// Takes constant time for any number of equal names.
  std::string take(const std::string &wanted) {
    if (taken.insert(wanted).second)
      return wanted;
    for (int &number = numbers[wanted];;)
      if (std::string candidate = wanted + separator + std::to_string(++number); taken.insert(candidate).second)
        return candidate;
  }
  /// Excludes `name` from later results.
  void reserve(const std::string &name) { taken.insert(name); }
  /// Allows `name` to be returned again.
  void release(const std::string &name) {
    taken.erase(name);
    size_t at = name.rfind(separator);
    auto base = at == std::string::npos ? numbers.end() : numbers.find(name.substr(0, at));
    if (base != numbers.end()) // the released number may be the smallest free one
      base->second = std::min(base->second, std::max(0, std::atoi(name.c_str() + at + separator.size()) - 1));
  }

private:
  std::string separator;
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, int> numbers; // largest number in use, by wanted name
};

} // namespace lathe
