#include "schedule/Schedule.h"

#include "schedule/Algorithms.h"
#include "support/Error.h"
#include "support/Text.h"

#include <charconv>
#include <sstream>

namespace lathe {
namespace {

/// Reads only numbers as std::to_string writes them, so that other texts of names stay unchanged.
bool readNumber(std::string_view word, int64_t &value) {
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && std::to_string(value) == word;
}

/// The declaration of parameter `name`, which the code of the algorithm reads.
const Parameter &declared(const Schedule &schedule, const std::string &name, Parameter::Kind kind, bool ownDefault) {
  const Algorithm *algorithm = findAlgorithm(schedule.algorithm, schedule.version);
  const Parameter *parameter = algorithm ? algorithm->find(name) : nullptr;
  if (!parameter || parameter->kind != kind || parameter->hasDefault() != ownDefault)
    throw std::logic_error(
        fmt::format("{}/{} declares no parameter '{}' of this kind", schedule.algorithm, schedule.version, name));
  return *parameter;
}

} // namespace

int64_t Schedule::number(const std::string &name) const {
  const Parameter &parameter = declared(*this, name, Parameter::Kind::number, true);
  auto it = numbers.find(name);
  return it == numbers.end() ? *parameter.defaultNumber : it->second;
}

int64_t Schedule::number(const std::string &name, int64_t fallback) const {
  declared(*this, name, Parameter::Kind::number, false);
  auto it = numbers.find(name);
  return it == numbers.end() ? fallback : it->second;
}

std::string Schedule::word(const std::string &name) const {
  const Parameter &parameter = declared(*this, name, Parameter::Kind::word, true);
  auto it = words.find(name);
  return it == words.end() ? parameter.words.front() : it->second;
}

std::string Schedule::str() const {
  const Algorithm *declared = findAlgorithm(algorithm, version);
  auto isDefault = [&](const std::string &name, auto has) {
    const Parameter *parameter = declared ? declared->find(name) : nullptr;
    return parameter && parameter->hasDefault() && has(*parameter);
  };
  std::string result = fmt::format("{}/{}", algorithm, version);
  for (auto &[name, value] : numbers)
    if (!isDefault(name,
                   [&](const Parameter &p) { return p.kind == Parameter::Kind::number && p.defaultNumber == value; }))
      result += fmt::format(" {}={}", name, value);
  for (auto &[name, value] : words)
    if (!isDefault(name,
                   [&](const Parameter &p) { return p.kind == Parameter::Kind::word && p.words.front() == value; }))
      result += fmt::format(" {}={}", name, value);
  return result;
}

Schedule Schedule::parse(const std::string &text) {
  std::string shown = printable(text);
  std::istringstream stream(text);
  std::string word;
  Schedule result;
  require(static_cast<bool>(stream >> word), "schedule '{}': expected 'algorithm/version name=value ...'", shown);
  size_t slash = word.find('/');
  int64_t version = 0;
  require(slash != std::string::npos && slash > 0 && readNumber(std::string_view(word).substr(slash + 1), version) &&
              version > 0 && version <= 1'000'000,
          "schedule '{}': expected 'algorithm/version', got '{}'", shown, printable(word));
  result.algorithm = word.substr(0, slash);
  result.version = static_cast<int>(version);
  while (stream >> word) {
    size_t equals = word.find('=');
    require(equals != std::string::npos && equals > 0 && equals + 1 < word.size(),
            "schedule '{}': expected name=value, got '{}'", shown, printable(word));
    std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    require(!result.numbers.contains(name) && !result.words.contains(name),
            "schedule '{}': {} is given twice, expected once", shown, printable(name));
    int64_t number;
    if (readNumber(value, number))
      result.numbers[name] = number;
    else
      result.words[name] = value;
  }
  return result;
}

bool canBeListed(const std::string &name) { return !name.empty() && name.find_first_of(" \t#\n") == std::string::npos; }

} // namespace lathe
