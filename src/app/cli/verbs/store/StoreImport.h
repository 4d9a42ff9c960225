// Imports files into a store, for the verbs `lathe store` and `lathe records`.
#pragma once

#include "cli/flags/Options.h"
#include "store/Archive.h"

namespace lathe::cli {

nlohmann::json countsJson(const store::Store::Counts &counts);

/// Imports `files` into the store `path`, a file or URL, which is created if it does not exist, and prints what is new.
/// Files of other programs contain only points, so they cannot be imported as tuning records. `format`: one of
/// lab::importFormats(); "": recognised by the content of each file. Returns the exit code.
int importFiles(const Options &options, const std::string &path, const std::vector<std::string> &files,
                store::Imported what, const std::string &format = "");

} // namespace lathe::cli
