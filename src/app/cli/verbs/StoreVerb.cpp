// `lathe store`: lists, shows, sends and merges measurements.
#include "cli/FrontVerbs.h"
#include "cli/flags/StoreFlags.h"
#include "cli/print/store/StorePrint.h"
#include "cli/verbs/store/StoreImport.h"
#include "cli/verbs/store/StoreVerbs.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {
namespace {

using nlohmann::json;

std::string of(auto count, const char *noun) { return counted(int64_t(count), noun); }

int storePath(const Arguments &arguments) {
  StoreFlags flags;
  Options options("store path", "Print where measurements are kept.", "  lathe store path\n");
  flags.add(options);
  options.parseAll(arguments);
  std::cout << store::Location(flags.path()).text() << "\n";
  return success;
}

int storeList(const Arguments &arguments) {
  StoreFlags flags;
  FilterFlags filters;
  Options options("store list", "List the experiments, the latest last.",
                  "  lathe store list\n  lathe store list --kind ops --json -\n");
  flags.add(options);
  filters.addKind(options);
  filters.addTag(options);
  options.addWide();
  options.addJson();
  options.parseAll(arguments);
  store::Store store = flags.open();
  ListedExperiments listed;
  store::LabelIndex labels = indexOf(store.labels(), store::LabelTarget::experiment);
  for (auto &summary : store.experiments(filters.filter(store)))
    listed.add(summary, labels[summary.experiment.uuid]);
  store::Store::Counts counts = store.counts();
  if (options.printsText()) {
    std::cout << listed.table.str(options.tableStyle());
    std::cout << fmt::format("{}: {} on {}, {}, {}, {}\n", store.path(), of(counts.experiments, "experiment"),
                             of(counts.platforms, "platform"), of(counts.points, "point"), of(counts.samples, "sample"),
                             of(counts.tuning, "tuning record"));
  }
  options.writeJson({{"store", store.path()}, {"counts", countsJson(counts)}, {"experiments", listed.documents}});
  return success;
}

int storeShow(const Arguments &arguments) {
  StoreFlags flags;
  std::string id;
  Options options("store show", "Show one experiment: where and how it was measured, and its points.",
                  "  lathe store show\n  lathe store show 3f2a --json experiment.json\n");
  options.add_option("id", id, "the experiment's id or its beginning (default: the last experiment)");
  flags.add(options);
  options.addWide();
  options.addJson();
  options.parseAll(arguments);
  store::Store store = flags.open();
  if (id.empty()) {
    auto all = store.experiments();
    require(!all.empty(), "{}: has no experiments", store.path());
    id = all.back().experiment.uuid;
  }
  store::Experiment e = store.experiment(id);
  store::Platform platform = store.platform(e.platform);
  if (options.printsText())
    std::cout << experimentText(e, platform, store.labels());
  ListedPoints points;
  store.points({.experiments = {e.uuid}}, true,
               [&](const store::Point &point) { points.add(point, options.given("--json")); });
  if (options.printsText())
    std::cout << points.table.str(options.tableStyle());
  json document = store::toJson(e);
  document["platform"] = store::toJson(platform);
  document["points"] = std::move(points.documents);
  options.writeJson(document);
  return success;
}

const Verb storeVerbs[] = {
    {"path", "Print where measurements are kept", storePath},
    {"list", "List the experiments", storeList},
    {"show", "Show one experiment and its points", storeShow},
    {"export", "Write an archive, CSV or Google Benchmark's JSON", storeExport},
    {"import", "Add archives, store files and results of other programs to the store", storeImport},
    {"merge", "Merge archives and stores into the store named first", storeMerge},
    {"tag", "Tag experiments, platforms and problems", storeTag},
    {"note", "Attach a note to an experiment, a platform or a problem", storeNote},
    {"name", "Name an experiment, a platform or a problem", storeName},
    {"trend", "Show times over dates and commits, and where they changed", storeTrend},
};

/// "`ops`, `bench` and `sweep`": the verbs that keep measurements. Kinds of experiments have the names of their verbs;
/// `sweep` has no kind of its own.
std::string measuringVerbs() {
  std::string text;
  for (std::string_view kind : store::experimentKindNames())
    if (kind != name(store::ExperimentKind::imported))
      text += fmt::format("`{}`, ", kind);
  return text.substr(0, text.size() - 2) + " and `sweep`";
}

} // namespace

int storeVerb(const Arguments &arguments) {
  return runSubVerb("store", fmt::format("Manage the measurements that {}\nkeep (docs/store.md).\n", measuringVerbs()),
                    storeVerbs,
                    "  lathe store list\n"
                    "  lathe store show\n"
                    "  lathe store export machine.jsonl.gz\n"
                    "  lathe store merge all.db laptop.jsonl.gz server.jsonl.gz\n",
                    arguments);
}

} // namespace lathe::cli
