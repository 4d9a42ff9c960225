// Options of verbs as data: `lathe VERB --describe` prints them as JSON. dev/cli_description.py reads this; the completions
// of shells and the manual pages are made of it.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace lathe::cli {

/// The argument that asks a verb for its description, in place of all others.
inline constexpr const char *describeFlag = "--describe";

/// A check that accepts every text. It states the words that shells offer as the value of an option. For an option that the
/// code parses itself; of one with CLI::IsMember, the check is the statement.
CLI::Validator offers(const std::vector<std::string> &words);
/// The same for a value that is several of these words, separated by commas.
CLI::Validator offersList(const std::vector<std::string> &words);

/// The command and its options: {"command", "summary", "footer", "options": [{"names", "positional", "help", "type",
/// "default", "required", "repeats", "excludes", "values", "list"}]}. `names` is empty for a positional argument. `type` is
/// empty for a flag without a value. `values` are the words that are offered or allowed; `list`: separated by commas.
/// Hidden options are left out.
nlohmann::json describe(CLI::App &app);

} // namespace lathe::cli
