#include "cli/flags/Describe.h"

#include <algorithm>
#include <cstdio>

namespace lathe::cli {
namespace {

// CLI11 does not print the name of a check, so the name can mark these checks.
const std::string offered = "offers", offeredList = "offers a list";
constexpr char separator = '\n';

CLI::Validator statement(std::string name, const std::vector<std::string> &words) {
  for (const std::string &word : words)
    name += separator + word;
  return CLI::Validator([](std::string &) { return std::string(); }, "", name);
}

std::vector<CLI::Validator *> checksOf(CLI::Option &option) {
  std::vector<CLI::Validator *> checks;
  try {
    for (int i = 0;; ++i)
      checks.push_back(option.get_validator(i));
  } catch (const CLI::OptionNotFound &) { // CLI11 does not state their number
  }
  return checks;
}

/// The words that a check allows or offers. Includes integers up to nine, so that the levels of -O complete.
std::vector<std::string> wordsOf(const CLI::Validator &check, bool &isList) {
  std::vector<std::string> parts = CLI::detail::split(check.get_name(), separator);
  if (parts.front() == offered || parts.front() == offeredList) {
    isList |= parts.front() == offeredList;
    return {parts.begin() + 1, parts.end()};
  }
  std::string text = check.get_description();
  if (text.starts_with('{') && text.ends_with('}')) // CLI::IsMember
    return CLI::detail::split(text.substr(1, text.size() - 2), ',');
  int least = 0, most = 0;
  if (std::sscanf(text.c_str(), "INT in [%d - %d]", &least, &most) != 2 || least < 0 || most > 9)
    return {};
  std::vector<std::string> levels;
  for (int level = least; level <= most; ++level)
    levels.push_back(std::to_string(level));
  return levels;
}

nlohmann::json describe(CLI::Option &option) {
  std::vector<std::string> names, values;
  for (const std::string &name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    names.push_back("--" + name);
  bool takesValue = option.get_items_expected_max() > 0, isList = option.get_delimiter() != 0;
  for (const CLI::Validator *check : checksOf(option))
    for (std::string &word : wordsOf(*check, isList))
      values.push_back(std::move(word));
  std::vector<std::string> excludes;
  for (const CLI::Option *other : option.get_excludes())
    excludes.push_back(other->get_name());
  std::sort(excludes.begin(), excludes.end()); // order of pointers is not stable
  return {{"names", names},
          {"positional", names.empty() ? option.get_name(true) : ""},
          {"help", option.get_description()},
          {"type", takesValue ? option.get_type_name() : ""},
          {"default", option.get_default_str()},
          {"required", option.get_required()},
          {"repeats",
           option.get_items_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll},
          {"excludes", excludes},
          {"values", values},
          {"list", isList}};
}

} // namespace

CLI::Validator offers(const std::vector<std::string> &words) { return statement(offered, words); }
CLI::Validator offersList(const std::vector<std::string> &words) { return statement(offeredList, words); }

nlohmann::json describe(CLI::App &app) {
  nlohmann::json options = nlohmann::json::array();
  for (CLI::Option *option : app.get_options())
    if (!option->get_group().empty())
      options.push_back(describe(*option));
  return {{"command", app.get_name()},
          {"summary", app.get_description()},
          {"footer", app.get_footer()},
          {"options", options}};
}

CLI::Option *repeatable(CLI::Option *option) {
  return option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

} // namespace lathe::cli
