// The options of a verb as data: `lathe VERB --describe` prints them as JSON. dev/cli_description.py makes the
// completions of shells and the manual pages from the JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace lathe::cli {

/// The argument that requests the description of a verb. It is given instead of all other arguments.
inline constexpr const char *describeFlag = "--describe";

/// A check that accepts every text and states the words that shells offer as the value of an option. For options that
/// the code parses; an option with CLI::IsMember already states its words.
CLI::Validator offers(const std::vector<std::string> &words);
/// A check like `offers`, for an option whose value is a list of these words, separated by commas.
CLI::Validator offersList(const std::vector<std::string> &words);

/// Makes an option one that may be given several times, with one value each time.
CLI::Option *repeatable(CLI::Option *option);

/// Returns the description of a command and its options: {"command", "summary", "footer", "options": [{"names",
/// "positional", "help", "type", "default", "required", "repeats", "excludes", "values", "list"}]}. `names` is empty
/// for a positional argument. `type` is empty for a flag without a value. `values` are the words that are offered or
/// allowed; `list`: the value is a list of them, separated by commas. Hidden options are left out.
nlohmann::json describe(CLI::App &app);

} // namespace lathe::cli
