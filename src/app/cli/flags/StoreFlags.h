// Flags that select a store and its measurements.
#pragma once

#include "cli/flags/Options.h"
#include "store/Store.h"

namespace lathe::cli {

/// The files of the store `store` (a path or a URL); none for the URL of a server.
std::vector<std::string> storeFiles(const std::string &store);

/// The flag --store FILE|URL of verbs that read or manage measurements.
struct StoreFlags {
  std::string file; // file or URL of --store; "": the default store

  void add(Options &app);
  std::string path() const { return file.empty() ? store::defaultStorePath() : file; }
  /// Opens the store for reading, and upgrades an older one if possible (store::openForReading). Throws Error if there
  /// is none.
  store::Store open() const;
  /// Opens the store for writing.
  store::Store openToWrite() const;
};

/// Adds the flag --tag, which may be repeated; each use has one tag or several, separated by commas, in a single
/// argument.
CLI::Option *addTags(CLI::App &app, std::vector<std::string> &tags, const char *help);

/// Flags that select measurements: --experiment, --kind, --tag, --operator, --provider.
struct FilterFlags {
  std::vector<std::string> experiments; // uuids of the selected experiments, or beginnings of uuids
  std::vector<std::string> tags;        // tags that a selected experiment must have
  std::string kind, op, provider;

  void add(CLI::App &app);
  /// Adds only the flag --kind of these flags.
  void addKind(CLI::App &app);
  /// Adds only the flag --tag of these flags.
  void addTag(CLI::App &app);
  /// Adds only the flag --provider of these flags.
  static void addProvider(CLI::App &app, std::string &provider);
  /// Converts the flags to a filter for reading a store. Throws Error if the flags name an experiment that `store`
  /// does not have.
  store::Filter filter(store::Store &store) const;
};

} // namespace lathe::cli
