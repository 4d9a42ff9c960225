#include "cli/StoreFlags.h"

#include "cli/print/Describe.h"
#include "lab/ops/ProviderWorker.h"

#include <cstdlib>
#include <filesystem>

namespace lathe::cli {

void StoreFlags::add(Options &app) {
  app.reads([this]() -> std::vector<std::string> {
    if (file.empty() && !std::getenv("XDG_DATA_HOME") && !std::getenv("HOME"))
      return {}; // there is no default
    return {path(), path() + "-wal"};
  });
  app.add_option("--store", file, "Use this store (default: ~/.local/share/lathe/lathe.db)")->type_name("FILE");
}

store::Store StoreFlags::open() const {
  require(std::filesystem::exists(path()), "{}: does not exist: nothing was kept there yet", path());
  return store::Store(path(), {.create = false});
}

void FilterFlags::add(CLI::App &app) {
  app.add_option("--experiment", experiments, "Take only these experiments, by id or its beginning")
      ->delimiter(',')
      ->type_name("ID");
  addKind(app);
  app.add_option("--operator", op, "Take only points of this operator; model: whole models");
  app.add_option("--provider", provider, "Take only points of this provider or runner")
      ->check(offers(lab::knownProviders()));
}

void FilterFlags::addKind(CLI::App &app) {
  const std::vector<std::string> kinds = {"ops",      "bench", "compare",  "profile",
                                          "segments", "tune",  "evaluate", "quantize"};
  app.add_option("--kind", kind, fmt::format("Take only experiments of this kind: {}", fmt::join(kinds, ", ")))
      ->check(offers(kinds));
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
