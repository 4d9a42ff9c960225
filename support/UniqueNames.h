// Names that occur once: a name that is taken gets a number behind it.
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

  /// `wanted`, or `wanted` with the least number that makes a name nobody has. Constant time however many share it.
  std::string take(const std::string &wanted) {
    if (taken.insert(wanted).second)
      return wanted;
    for (int &number = numbers[wanted];;)
      if (std::string candidate = wanted + separator + std::to_string(++number); taken.insert(candidate).second)
        return candidate;
  }
  /// Nobody gets `name` from here on.
  void reserve(const std::string &name) { taken.insert(name); }
  /// `name` may be taken again.
  void release(const std::string &name) {
    taken.erase(name);
    size_t at = name.rfind(separator);
    auto base = at == std::string::npos ? numbers.end() : numbers.find(name.substr(0, at));
    if (base != numbers.end()) // its number may be the least one now
      base->second = std::min(base->second, std::max(0, std::atoi(name.c_str() + at + separator.size()) - 1));
  }

private:
  std::string separator;
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, int> numbers; // by wanted name: those up to here are taken
};

} // namespace lathe
