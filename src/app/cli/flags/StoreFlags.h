// Flags that select a store and its measurements.
#pragma once

#include "cli/flags/Options.h"
#include "store/Store.h"

namespace lathe::cli {

/// The files that a store is read from; none for the URL of a server.
std::vector<std::string> storeFiles(const std::string &store);

/// --store FILE|URL, for verbs that read or manage measurements.
struct StoreFlags {
  std::string file; // or URL; "": the default

  void add(Options &app);
  std::string path() const { return file.empty() ? store::defaultStorePath() : file; }
  /// Opens the store, at least to read (store::openForReading). Throws Error if there is none.
  store::Store open() const;
  /// The same, to be written.
  store::Store openToWrite() const;
};

/// Adds --tag, which may be given several times, with one tag or several separated by commas. It takes no words that follow.
CLI::Option *addTags(CLI::App &app, std::vector<std::string> &tags, const char *help);

/// --experiment, --kind, --tag, --operator, --provider.
struct FilterFlags {
  std::vector<std::string> experiments; // ids or their beginnings
  std::vector<std::string> tags;        // that experiments have
  std::string kind, op, provider;

  void add(CLI::App &app);
  /// Adds --kind alone.
  void addKind(CLI::App &app);
  /// Adds --tag alone.
  void addTag(CLI::App &app);
  /// Adds --provider alone.
  static void addProvider(CLI::App &app, std::string &provider);
  /// Converts the flags to a filter. Throws Error for an experiment that `store` does not have.
  store::Filter filter(store::Store &store) const;
};

} // namespace lathe::cli
