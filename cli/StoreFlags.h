// Where measurements are kept, and which of them: flags that verbs share.
#pragma once

#include "cli/Common.h"
#include "store/Store.h"

namespace lathe::cli {

/// --store FILE, for a verb that reads or manages what was kept.
struct StoreFlags {
  std::string file; // "": the default

  void add(Options &app);
  std::string path() const { return file.empty() ? store::defaultStorePath() : file; }
  /// Opens what is there; throws Error where nothing was kept yet.
  store::Store open() const;
};

/// --experiment, --kind, --operator, --provider.
struct FilterFlags {
  std::vector<std::string> experiments; // ids, or how they begin
  std::string kind, op, provider;

  void add(CLI::App &app);
  /// Throws Error for an experiment that is not in `store`.
  store::Filter filter(store::Store &store) const;
};

} // namespace lathe::cli
