#include "cli/StoreFlags.h"

#include <cstdlib>
#include <filesystem>

namespace lathe::cli {

void StoreFlags::add(Options &app) {
  app.reads([this]() -> std::vector<std::string> {
    if (file.empty() && !std::getenv("XDG_DATA_HOME") && !std::getenv("HOME"))
      return {}; // there is no default
    return {path(), path() + "-wal"};
  });
  app.add_option("--store", file, "the measurements' file (~/.local/share/lathe/lathe.db)")->type_name("FILE");
}

store::Store StoreFlags::open() const {
  require(std::filesystem::exists(path()), "{}: does not exist: nothing was kept there yet", path());
  return store::Store(path(), {.create = false});
}

void FilterFlags::add(CLI::App &app) {
  app.add_option("--experiment", experiments, "only these experiments, by id or its beginning")
      ->delimiter(',')
      ->type_name("ID");
  app.add_option("--kind", kind, "only experiments of this kind: ops, bench, compare, profile, segments, tune");
  app.add_option("--operator", op, "only points of this operator; `model` for whole models");
  app.add_option("--provider", provider, "only points of this provider or runner");
}

store::Filter FilterFlags::filter(store::Store &store) const {
  store::Filter filter;
  for (const std::string &prefix : experiments)
    filter.experiments.push_back(store.experiment(prefix).uuid);
  if (!kind.empty())
    filter.kind = store::experimentKind(kind);
  filter.op = op;
  filter.provider = provider;
  return filter;
}

} // namespace lathe::cli
