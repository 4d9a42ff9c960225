// Flags that select a store and its measurements.
#pragma once

#include "cli/flags/Options.h"
#include "store/Store.h"

namespace lathe::cli {

/// The files in which the store `store` is; none for the URL of a server.
std::vector<std::string> storeFiles(const std::string &store);

/// The flag --store FILE|URL, for verbs that read or manage measurements.
struct StoreFlags {
  std::string file; // file or URL of --store; "": the default store

  void add(Options &app);
  std::string path() const { return file.empty() ? store::defaultStorePath() : file; }
  /// Opens the store for reading or better (store::openForReading). Throws Error if there is none.
  store::Store open() const;
  /// Opens the store for writing.
  store::Store openToWrite() const;
};

/// Adds --tag, which may be repeated; each use has one tag or several, separated by commas, in a single argument.
CLI::Option *addTags(CLI::App &app, std::vector<std::string> &tags, const char *help);

/// Flags that select measurements: --experiment, --kind, --tag, --operator, --provider.
struct FilterFlags {
  std::vector<std::string> experiments; // uuids of experiments, or their beginnings
  std::vector<std::string> tags;        // tags that an experiment must have
  std::string kind, op, provider;

  void add(CLI::App &app);
  /// Adds only --kind.
  void addKind(CLI::App &app);
  /// Adds only --tag.
  void addTag(CLI::App &app);
  /// Adds only --provider.
  static void addProvider(CLI::App &app, std::string &provider);
  /// Converts the flags to a filter. Throws Error for an experiment that `store` does not have.
  store::Filter filter(store::Store &store) const;
};

} // namespace lathe::cli
