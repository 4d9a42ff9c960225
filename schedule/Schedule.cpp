#include "schedule/Schedule.h"
#include "support/Error.h"

#include <charconv>
#include <sstream>

namespace lathe {

int64_t Schedule::number(const std::string &name, int64_t fallback) const {
  auto it = numbers.find(name);
  return it == numbers.end() ? fallback : it->second;
}

std::string Schedule::word(const std::string &name, const std::string &fallback) const {
  auto it = words.find(name);
  return it == words.end() ? fallback : it->second;
}

std::string Schedule::str() const {
  std::string result = fmt::format("{}/{}", algorithm, version);
  for (auto &[name, value] : numbers)
    result += fmt::format(" {}={}", name, value);
  for (auto &[name, value] : words)
    result += fmt::format(" {}={}", name, value);
  return result;
}

Schedule Schedule::parse(const std::string &text) {
  auto integer = [&](std::string_view word, int64_t &value) {
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size();
  };
  std::istringstream stream(text);
  std::string word;
  Schedule result;
  require(static_cast<bool>(stream >> word), "schedule '{}': expected 'algorithm/version name=value ...'", text);
  size_t slash = word.find('/');
  int64_t version = 0;
  require(slash != std::string::npos && slash > 0 && integer(std::string_view(word).substr(slash + 1), version) &&
              version > 0,
          "schedule '{}': expected 'algorithm/version', got '{}'", text, word);
  result.algorithm = word.substr(0, slash);
  result.version = static_cast<int>(version);
  while (stream >> word) {
    size_t equals = word.find('=');
    require(equals != std::string::npos && equals > 0 && equals + 1 < word.size(),
            "schedule '{}': expected name=value, got '{}'", text, word);
    std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    int64_t number;
    if (integer(value, number))
      result.numbers[name] = number;
    else
      result.words[name] = value;
  }
  return result;
}

} // namespace lathe
