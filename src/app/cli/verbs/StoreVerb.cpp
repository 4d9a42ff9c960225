// `lathe store`: lists, shows, sends and merges measurements.
#include "cli/FrontVerbs.h"
#include "cli/flags/StoreFlags.h"
#include "cli/verbs/store/StoreExport.h"
#include "cli/verbs/store/StoreImport.h"
#include "cli/verbs/store/StoreLabels.h"
#include "cli/verbs/store/StoreTrend.h"
#include "lab/foreign/Foreign.h"
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
  filters.addKind(options);
  filters.addTag(options);
  options.addWide();
  options.addJson();
  options.parseAll(arguments);
  store::Store store = flags.open();
  Table table({textColumn("id"), textColumn("started").drop(1), textColumn("kind"), numberColumn("points"),
               numberColumn("passed").drop(2), textColumn("CPU").drop(3).shrink(12), textColumn("labels").shrink(12),
               textColumn("command").shrink(20)});
  json experiments = json::array();
  store::LabelIndex labels = indexOf(store.labels(), store::LabelTarget::experiment);
  for (auto &summary : store.experiments(filters.filter(store))) {
    const store::Experiment &e = summary.experiment;
    bool isImported = e.kind == store::ExperimentKind::imported;
    table.row({e.uuid.substr(0, 8), e.started.substr(0, 19) + "Z",
               isImported ? fmt::format("{} ({})", name(e.kind), shownName(store::PointStatus::notVerified))
                          : std::string(name(e.kind)),
               std::to_string(summary.points), std::to_string(summary.passed), summary.cpu, labelText(labels[e.uuid]),
               e.command + (!e.finished.empty() ? ""
                            : summary.owner     ? fmt::format(" (measured by process {})", summary.owner->pid)
                                                : " (not finished)")});
    json document = store::toJson(e);
    document["points"] = summary.points;
    document["passed"] = summary.passed;
    document["cpu"] = summary.cpu;
    document.update(toJson(labels[e.uuid]));
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

/// Describes the machine and the user who measured.
std::string machineText(const store::Platform &platform, const store::Experiment &e) {
  if (e.kind == store::ExperimentKind::imported)
    return fmt::format("{}; measured by another program, {}", platform.cpu, shownName(store::PointStatus::notVerified));
  return fmt::format("{}, {}, {}, {}{}; lathe {} ({})", platform.cpu, counted(platform.cores, "core"),
                     counted(platform.hardwareThreads, "hardware thread"), platform.kernel,
                     platform.virtualized ? ", virtual machine (" + platform.hypervisor + ")" : "", e.version, e.build);
}

/// A line for the labels of the experiment, and one for those of its platform.
std::string labelLines(const std::vector<store::Label> &labels, const store::Experiment &e) {
  std::string lines;
  for (auto [target, key] :
       {std::pair{store::LabelTarget::experiment, e.uuid}, {store::LabelTarget::platform, e.platform}})
    if (std::string text = labelText(indexOf(labels, target)[key]); !text.empty())
      lines += fmt::format("{}: {}\n", name(target), printable(text));
  return lines;
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
                             e.finished.empty() ? "(not finished)" : e.finished, printable(e.command));
    std::cout << printable(machineText(platform, e)) << "\n";
    std::cout << labelLines(store.labels(), e);
    if (e.disturbance.otherProcessors)
      std::cout << fmt::format("others kept {:.2f} processors busy\n", *e.disturbance.otherProcessors);
  }
  Table table({textColumn("operator").drop(1), textColumn("problem").shrink(20), textColumn("provider").shrink(12),
               textColumn("setting").drop(2).shrink(8), textColumn("status"), numberColumn("samples").drop(3),
               numberColumn("median", "ms"), numberColumn("min", "ms").drop(4), textColumn("figures").shrink(12)});
  json points = json::array();
  store.points({.experiments = {e.uuid}}, true, [&](const store::Point &p) {
    lab::Summary time = timeOf(p);
    auto ms = [&](double seconds) { return time.count ? millisecondsText(seconds) : ""; };
    report::Row row;
    row.provider = p.provider;
    row.variant = p.variant;
    row.setting = p.setting;
    row.status = store::PointStatus::passed; // the status column says which points are not verified
    table.row({p.problem.op, p.problem.text, report::scheduledColumnOf(row), report::settingText(p.setting),
               std::string(shownName(p.status)), std::to_string(time.count), ms(time.median), ms(time.min),
               figuresText(p.figures)});
    if (!options.given("--json"))
      return;
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
    if (format == "csv")
      for (const CsvColumn &column : samples ? sampleColumns() : pointColumns())
        document["columns"].push_back({{"name", column.name}, {"type", column.type}});
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
  std::string format;
  Options options(
      "store import",
      "Add archives, store files and stores of servers, of this machine or others, and results of other programs to\n"
      "the store: output of benchdnn, profiles of ONNX Runtime, JSON of Google Benchmark, logs of AutoTVM. What other\n"
      "programs measured is marked as not verified here (docs/store.md). All files are checked first; then either all\n"
      "are added or none. Of two measurements of one point the later one stays.",
      "  lathe store import laptop.jsonl.gz server.db\n"
      "  lathe store import benchdnn.log onnxruntime_profile.json\n");
  options
      .add_option("file", files,
                  "archives (`lathe store export`), store files, URLs of servers and results of other programs")
      ->required();
  auto formats = lab::importFormats();
  options
      .add_option("--format", format,
                  fmt::format("Read the files in this format: {} (default: by content)", fmt::join(formats, ", ")))
      ->check(CLI::IsMember(std::vector<std::string>(formats.begin(), formats.end())));
  flags.add(options);
  options.addJson();
  options.parseAll(arguments);
  return importFiles(options, flags.path(), files, store::Imported::everything, format);
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
  return importFiles(options, into, files, store::Imported::everything, "lathe");
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
