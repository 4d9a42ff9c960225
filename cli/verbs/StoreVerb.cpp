// `lathe store`: what was measured, to be looked at, sent and merged.
#include "cli/FrontVerbs.h"
#include "cli/StoreExport.h"
#include "cli/StoreFlags.h"
#include "cli/StoreImport.h"
#include "cli/analysis/StoreTrend.h"
#include "report/Rows.h"
#include "store/Archive.h"
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
  options.add_option(
      "--kind", filters.kind,
      "Take only experiments of this kind: ops, bench, compare, profile, segments, tune, evaluate, quantize");
  options.addWide();
  options.addJson();
  options.parseAll(arguments);
  store::Store store = flags.open();
  Table table({textColumn("id"), textColumn("started").drop(1), textColumn("kind"), numberColumn("points"),
               numberColumn("passed").drop(2), textColumn("CPU").drop(3).shrink(12), textColumn("command").shrink(20)});
  json experiments = json::array();
  for (auto &summary : store.experiments(filters.filter(store))) {
    const store::Experiment &e = summary.experiment;
    table.row({e.uuid.substr(0, 8), e.started.substr(0, 19) + "Z", std::string(name(e.kind)),
               std::to_string(summary.points), std::to_string(summary.passed), summary.cpu,
               e.command + (!e.finished.empty() ? ""
                            : summary.owner     ? fmt::format(" (measured by process {})", summary.owner->pid)
                                                : " (not finished)")});
    json document = store::toJson(e);
    document["points"] = summary.points;
    document["passed"] = summary.passed;
    document["cpu"] = summary.cpu;
    experiments.push_back(std::move(document));
  }
  store::Store::Counts counts = store.counts();
  if (options.printsText()) {
    std::cout << table.str(options.tableStyle());
    std::cout << fmt::format("{}: {} on {}, {}, {}, {}\n", store.path(), of(counts.experiments, "experiment"),
                             of(counts.platforms, "platform"), of(counts.points, "point"), of(counts.samples, "sample"),
                             of(counts.tuning, "tuning record"));
  }
  options.writeJson({{"store", store.path()}, {"counts", countsJson(counts)}, {"experiments", experiments}});
  return success;
}

/// "top1 0.75, top5 1"; without the counts of a confusion matrix.
std::string figuresText(const std::map<std::string, double> &figures) {
  std::string text;
  for (const auto &[name, figure] : figures)
    if (!name.starts_with("confusion "))
      text += fmt::format("{}{} {:.6g}", text.empty() ? "" : ", ", name, figure);
  return text;
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
  if (options.printsText()) {
    std::cout << fmt::format("{} ({}), {} to {}\n{}\n", e.uuid, name(e.kind), e.started,
                             e.finished.empty() ? "(not finished)" : e.finished, e.command);
    std::cout << fmt::format("{}, {}, {}, {}{}; lathe {} ({})\n", platform.cpu, counted(platform.cores, "core"),
                             counted(platform.hardwareThreads, "hardware thread"), platform.kernel,
                             platform.virtualized ? ", virtual machine (" + platform.hypervisor + ")" : "", e.version,
                             e.build);
    if (e.disturbance.otherProcessors)
      std::cout << fmt::format("others kept {:.2f} processors busy\n", *e.disturbance.otherProcessors);
  }
  Table table({textColumn("operator").drop(1), textColumn("problem").shrink(20), textColumn("provider").shrink(12),
               textColumn("setting").drop(2).shrink(8), textColumn("status"), numberColumn("samples").drop(3),
               numberColumn("median", "ms"), numberColumn("min", "ms").drop(4), textColumn("figures").shrink(12)});
  json points = json::array();
  store.points({.experiments = {e.uuid}}, true, [&](const store::Point &p) {
    lab::Summary time = timeOf(p);
    auto ms = [&](double seconds) { return time.count ? fmt::format("{:.4f}", seconds * 1e3) : ""; };
    report::Row row;
    row.provider = p.provider;
    row.variant = p.variant;
    row.setting = p.setting;
    table.row({p.problem.op, p.problem.text, report::scheduledColumnOf(row), report::settingText(p.setting),
               std::string(name(p.status)), std::to_string(time.count), ms(time.median), ms(time.min),
               figuresText(p.figures)});
    json document = store::toJson(p);
    document.erase("samples");
    if (time.count)
      document["time"] = lab::toJson(time);
    points.push_back(std::move(document));
  });
  if (options.printsText())
    std::cout << table.str(options.tableStyle());
  json document = store::toJson(e);
  document["platform"] = store::toJson(platform);
  document["points"] = points;
  options.writeJson(document);
  return success;
}

int storeExport(const Arguments &arguments) {
  StoreFlags flags;
  FilterFlags filters;
  std::string file, format = "jsonl";
  bool samples = false;
  Options options("store export",
                  "Write measurements as an archive that `lathe store import` reads, or in another program's format.\n"
                  "A FILE whose name ends in .gz is compressed.",
                  "  lathe store export all.jsonl.gz\n"
                  "  lathe store export points.csv --format csv --kind ops\n"
                  "  lathe store export - --format csv --samples --experiment 3f2a\n"
                  "  lathe store export bench.json --format benchmark-json --experiment 3f2a\n");
  options.addOutput("file", file, "file to write (-: standard output)")->required();
  options
      .add_option("--format", format,
                  "Set the format: jsonl (archive), csv (one row a point) or benchmark-json (Google Benchmark)")
      ->check(CLI::IsMember({"jsonl", "csv", "benchmark-json"}))
      ->capture_default_str();
  options.add_flag("--samples", samples, "Write one row a sample, with --format csv");
  flags.add(options);
  filters.add(options);
  options.addJson();
  options.parseAll(arguments);
  require(!samples || format == "csv", "--samples: only --format csv has rows of samples, got {}", format);
  require(file != "-" || options.printsText() || !options.given("--json"),
          "--json -: the archive goes to standard output already");
  store::Store store = flags.open();
  store::Filter filter = filters.filter(store);
  std::string said;
  json document = {{"file", file}, {"format", format}};
  if (format == "jsonl") {
    store::Store::Counts counts = store::exportArchive(store, filter, file);
    document["counts"] = countsJson(counts);
    said = fmt::format("{}, {}, {}, {}", of(counts.experiments, "experiment"), of(counts.points, "point"),
                       of(counts.samples, "sample"), of(counts.tuning, "tuning record"));
  } else {
    size_t rows = format == "benchmark-json" ? exportBenchmarkJson(store, filter, file)
                  : samples                  ? exportSamplesCsv(store, filter, file)
                                             : exportPointsCsv(store, filter, file);
    document["rows"] = rows;
    said = counted(int64_t(rows), samples ? "sample" : "point");
  }
  if (options.printsText())
    std::cout << fmt::format("{}: {}\n", file, said);
  options.writeJson(document);
  return success;
}

int storeImport(const Arguments &arguments) {
  StoreFlags flags;
  std::vector<std::string> files;
  Options options(
      "store import",
      "Add archives, store files and logs of AutoTVM, of this machine or others, to the store. All files are checked\n"
      "first; then either all are added or none. Of two measurements of one point the later one stays.",
      "  lathe store import laptop.jsonl.gz server.db\n");
  options.add_option("file", files, "archives (`lathe store export`), store files and URLs of servers")->required();
  flags.add(options);
  options.addJson();
  options.parseAll(arguments);
  return importFiles(options, flags.path(), files, store::Imported::everything);
}

int storeMerge(const Arguments &arguments) {
  std::string into;
  std::vector<std::string> files;
  Options options(
      "store merge",
      "Merge archives and stores, in files or on servers, into the store INTO, which is created if it does not "
      "exist.",
      "  lathe store merge all.db laptop.jsonl.gz server.db\n"
      "  lathe store merge postgresql://db/team laptop.db\n"
      "  lathe store merge mine.db postgresql://db/team\n");
  options.add_option("into", into, "store to write: a file, or the URL of a server")->required();
  options.add_option("file", files, "archives (`lathe store export`), store files and URLs of servers")->required();
  options.addJson();
  options.parseAll(arguments);
  return importFiles(options, into, files, store::Imported::everything);
}

const Verb verbs[] = {
    {"path", "Print where measurements are kept", storePath},
    {"list", "List the experiments", storeList},
    {"show", "Show one experiment and its points", storeShow},
    {"export", "Write an archive, CSV or Google Benchmark's JSON", storeExport},
    {"import", "Add archives and store files to the store", storeImport},
    {"merge", "Merge archives and stores into the store named first", storeMerge},
    {"trend", "Show times over dates and commits, and where they changed", storeTrend},
};

} // namespace

int storeVerb(const Arguments &arguments) {
  return runSubVerb(
      "store",
      "Manage the measurements that `ops`, `bench`, `compare`, `profile` and `segments` keep (docs/store.md).\n", verbs,
      "  lathe store list\n"
      "  lathe store show\n"
      "  lathe store export machine.jsonl.gz\n"
      "  lathe store merge all.db laptop.jsonl.gz server.jsonl.gz\n",
      arguments);
}

} // namespace lathe::cli
