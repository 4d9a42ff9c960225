#include "cli/flags/StoreFlags.h"

#include "cli/flags/Describe.h"
#include "jobs/Terminal.h"
#include "lab/ops/ProviderWorker.h"
#include "store/ReadOnly.h"

#include <cstdlib>
#include <set>

namespace lathe::cli {

/// Prints once per command: several of its processes may read the store.
static void sayNotice(const std::string &line) {
  if (line.ends_with(store::readAsItIs))
    sayOnce("LATHE_READ_ONLY_SAID", line);
  else
    say(line);
}

// Must be set here: each library that opens stores has its own copy of the notice function.
static const bool noticesAreSaid = (store::setStoreNotice(sayNotice), true);

std::vector<std::string> storeFiles(const std::string &store) {
  return store::isServerUrl(store) ? std::vector<std::string>{} : std::vector{store, store + "-wal"};
}

void StoreFlags::add(Options &app) {
  HelpSection section(app, "Storing");
  app.reads([this]() -> std::vector<std::string> {
    if (file.empty() && !std::getenv("XDG_DATA_HOME") && !std::getenv("HOME"))
      return {}; // there is no default
    return storeFiles(path());
  });
  app.add_option("--store", file,
                 "Use the store in this file or on this server, postgresql://HOST/DATABASE (default: "
                 "~/.local/share/lathe/lathe.db)")
      ->type_name("FILE|URL");
}

static void requireStore(const std::string &path) {
  store::Location place(path);
  require(place.mayExist(), "{}: does not exist: nothing was kept there yet", place.text());
}

store::Store StoreFlags::open() const {
  requireStore(path());
  return store::openForReading(path());
}

store::Store StoreFlags::openToWrite() const {
  requireStore(path());
  return store::Store(path(), {.create = false});
}

CLI::Option *addTags(CLI::App &app, std::vector<std::string> &tags, const char *help) {
  return repeatable(app.add_option("--tag", tags, help))->delimiter(',')->type_name("TAG");
}

void FilterFlags::add(CLI::App &app) {
  HelpSection section(app, "Choosing");
  app.add_option("--experiment", experiments, "Take only these experiments, by id or its beginning")
      ->delimiter(',')
      ->type_name("ID");
  addKind(app);
  addTag(app);
  app.add_option("--operator", op, "Take only points of this operator; model: whole models");
  addProvider(app, provider);
}

void FilterFlags::addProvider(CLI::App &app, std::string &provider) {
  app.add_option("--provider", provider, "Take only points of this provider or runner")
      ->check(offers(lab::knownProviders()));
}

void FilterFlags::addKind(CLI::App &app) {
  std::span<const std::string_view> names = store::experimentKindNames();
  const std::vector<std::string> kinds(names.begin(), names.end());
  app.add_option("--kind", kind,
                 fmt::format("Take only experiments of this kind: {}; those of `sweep` are of kind bench, those of "
                             "`bench --instances` of kind corun",
                             fmt::join(kinds, ", ")))
      ->check(offers(kinds));
}

void FilterFlags::addTag(CLI::App &app) {
  addTags(app, tags, "Take only experiments with all of these tags (`lathe store tag`)");
}

store::Filter FilterFlags::filter(store::Store &store) const {
  store::Filter filter;
  for (const std::string &prefix : experiments)
    filter.experiments.push_back(store.experiment(prefix).uuid);
  if (!tags.empty()) {
    std::set<std::string> given(filter.experiments.begin(), filter.experiments.end());
    filter.experiments.clear();
    for (auto &[uuid, labels] : indexOf(store.labels(), store::LabelTarget::experiment))
      if (labels.hasTags(tags) && (given.empty() || given.contains(uuid)))
        filter.experiments.push_back(uuid);
    require(!filter.experiments.empty(), "--tag {}: {} has no such experiment", fmt::join(tags, ","), store.path());
  }
  if (!kind.empty())
    filter.kind = store::experimentKind(kind);
  filter.op = op;
  filter.provider = provider;
  return filter;
}

} // namespace lathe::cli
