#include "compile/Options.h"

#include "support/Error.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <type_traits>

namespace lathe {
namespace {

constexpr const char *switchWords[] = {"false", "true"};

/// Sets a field of a choice: an enumeration or a bool.
template <class T> void set(const CompileOption &option, T &field, const std::string &value) {
  static_assert(std::is_enum_v<T> || std::is_same_v<T, bool>);
  std::span<const char *const> words = option.isSwitch<T>() ? switchWords : option.words;
  auto found = std::find(words.begin(), words.end(), option.isSwitch<T>() && value.empty() ? "true" : value);
  require(found != words.end(), "{} is '{}', expected {}", option.name, value, fmt::join(words, ", "));
  field = static_cast<T>(found - words.begin());
}

void set(const CompileOption &option, int &field, const std::string &value) {
  int number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  require(error == std::errc() && end == value.data() + value.size() && number >= option.least && number <= option.most,
          "{} is '{}', expected a number from {} to {}", option.name, value, option.least, option.most);
  field = number;
}

void set(const CompileOption &, std::string &field, const std::string &value) { field = value; }
void set(const CompileOption &option, NamedText &field, const std::string &value) { field = {option.name, value}; }
void set(const CompileOption &, std::vector<std::string> &field, const std::string &value) { field.push_back(value); }

/// The values for the flag, which is repeated for each value.
template <class T> std::vector<std::string> valuesOf(const CompileOption &option, const T &field) {
  if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return field;
  else if constexpr (std::is_same_v<T, NamedText>)
    return {field.name};
  else if constexpr (std::is_same_v<T, std::string>)
    return {field};
  else if constexpr (std::is_same_v<T, int>)
    return {std::to_string(field)};
  else if (option.isSwitch<T>())
    return std::vector<std::string>(static_cast<bool>(field));
  else
    return {option.words[static_cast<size_t>(field)]};
}

} // namespace

std::string CompileOption::key() const {
  std::string key = name;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

std::vector<std::string> argumentsOf(const CompileChoices &choices) {
  std::vector<std::vector<std::string>> defaults;
  CompileChoices none;
  visitOptions(none,
               [&](const CompileOption &option, const auto &field) { defaults.push_back(valuesOf(option, field)); });
  std::vector<std::string> arguments;
  size_t number = 0;
  visitOptions(choices, [&]<class T>(const CompileOption &option, const T &field) {
    std::vector<std::string> values = valuesOf(option, field);
    bool isDefault = values == defaults[number++];
    if ((isDefault && !option.always) || (option.ofCode && choices.referencesOnly))
      values.clear();
    for (const std::string &value : values) {
      arguments.push_back(option.flag());
      if (!option.isSwitch<T>())
        arguments.push_back(value);
    }
  });
  return arguments;
}

void setOption(CompileChoices &choices, std::string_view name, const std::string &value) {
  std::vector<const char *> names;
  bool found = false;
  visitOptions(choices, [&](const CompileOption &option, auto &field) {
    names.push_back(option.name);
    if (name == option.name) {
      set(option, field, value);
      found = true;
    }
  });
  require(found, "there is no option '{}', expected {}", name, fmt::join(names, ", "));
}

static void to_json(nlohmann::json &json, const NamedText &text) { json = {text.name, text.text}; }
static void from_json(const nlohmann::json &json, NamedText &text) {
  json.at(0).get_to(text.name);
  json.at(1).get_to(text.text);
}

void to_json(nlohmann::json &json, const CompileChoices &choices) {
  visitOptions(choices, [&](const CompileOption &option, const auto &field) { json[option.key()] = field; });
}

void from_json(const nlohmann::json &json, CompileChoices &choices) {
  visitOptions(choices, [&](const CompileOption &option, auto &field) { json.at(option.key()).get_to(field); });
}

} // namespace lathe
