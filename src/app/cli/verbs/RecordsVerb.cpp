// `lathe records`: lists which schedules were measured for which tasks, and their results (docs/records.md).
#include "cli/FrontVerbs.h"
#include "cli/flags/Describe.h"
#include "cli/flags/StoreFlags.h"
#include "cli/verbs/store/StoreImport.h"
#include "jobs/Self.h"
#include "jobs/ShippedRecords.h"
#include "support/Text.h"

#include <iostream>
#include <map>

namespace lathe::cli {
namespace {

using nlohmann::json;
using store::TuningRecord;

std::string recordsText(size_t count) { return counted(int64_t(count), "tuning record"); }

/// The flags --task, --family, --cpu, --platform, --status.
struct SelectFlags {
  store::TuningFilter filter;
  std::vector<std::string> statuses;

  void add(Options &options, bool byStatus) {
    options.add_option("--task", filter.part, "Take only tasks whose text contains this")->type_name("TEXT");
    options.add_option("--family", filter.family, "Take only tasks of this kernel family, such as contraction");
    options.add_option("--cpu", filter.cpu, "Take only records whose CPU, or task with its target, contains this")
        ->type_name("TEXT");
    options.add_option("--platform", filter.platform, "Take only records of this platform, by key or its beginning")
        ->type_name("KEY");
    if (byStatus)
      options
          .add_option("--status", statuses,
                      "Take only records with one of these: passed, failed, mistrusted, unimplemented, crashed, "
                      "timed_out, memory_exceeded, not_verified")
          ->delimiter(',')
          ->check(
              offers({"passed", "failed", "mistrusted", "unimplemented", "crashed", "timed_out", "memory_exceeded"}))
          ->type_name("NAME,...");
    options.afterParse([this] {
      for (const std::string &status : statuses)
        filter.statuses.push_back(store::pointStatus(status));
    });
  }
};

/// CPU names of platforms, each read once.
class Processors {
public:
  explicit Processors(store::Store &store) : store(store) {}
  const std::string &of(const std::string &platform) {
    auto [found, isNew] = names.try_emplace(platform);
    if (isNew)
      found->second = store.platform(platform).cpu;
    return found->second;
  }

private:
  store::Store &store;
  std::map<std::string, std::string> names; // by key
};

std::string millisecondsText(const std::optional<double> &seconds) { return seconds ? millisecondsText(*seconds) : ""; }

/// "2.1" of the seconds spent on building and running; "" if unknown.
std::string spentText(const TuningRecord &record) {
  return record.buildSeconds || record.runSeconds
             ? fmt::format("{:.2f}", record.buildSeconds.value_or(0) + record.runSeconds.value_or(0))
             : "";
}

std::string verdictText(const TuningRecord &record) {
  return record.verdict == store::TuningVerdict::open ? "" : std::string(name(record.verdict));
}

json documentOf(const TuningRecord &record, const store::TuningTask &task, Processors &processors) {
  json document = store::toJson(record);
  if (!record.samples.empty())
    document["samples_ns"] = record.samples; // samples of all outcomes
  document["cpu"] = processors.of(record.platform);
  document["family"] = task.family;
  return document;
}

/// Flags of the sub-verbs that show a table.
struct ShowFlags {
  StoreFlags store;
  SelectFlags select;
  size_t rows = 40;
  bool shipped = false;

  store::Store open() const {
    if (!shipped)
      return store.open();
    store::Store all = store::Store::temporary(shippedFolder("records"));
    store::importInto(all, shippedArchives(), store::Imported::tuning);
    return all;
  }

  void add(Options &options, bool byStatus) {
    select.add(options, byStatus);
    options.add_option("--rows", rows, "Show at most this many rows (0: all); JSON has all")->capture_default_str();
    store.add(options);
    options.add_flag("--shipped", shipped, "Show the records that come with lathe instead of a store")
        ->excludes(options.get_option("--store"));
    options.addWide();
    options.addJson();
  }
};

int recordsList(const Arguments &arguments) {
  ShowFlags flags;
  Options options(
      "records list",
      "List tuning records: schedules that were measured for a task (a kernel with its shapes, types, layouts,\n"
      "threads and processor), by task, the fastest first.",
      "  lathe records list\n"
      "  lathe records list --task '| conv ' --status crashed,timed_out\n"
      "  lathe records list --cpu znver4 --json -\n"
      "  lathe records list --shipped\n");
  flags.add(options, true);
  options.parseAll(arguments);
  store::Store store = flags.open();
  Processors processors(store);
  Table table({textColumn("CPU").drop(3).shrink(12), numberColumn("", "ms"), textColumn("status"),
               textColumn("reason").drop(2).shrink(12), textColumn("schedule").shrink(16),
               textColumn("task").shrink(20), textColumn("verdict").drop(1), numberColumn("samples").drop(5),
               textColumn("searcher").drop(4), numberColumn("spent", "s").drop(6), textColumn("measured").drop(7),
               textColumn("version").drop(8)});
  json records = json::array();
  size_t undeclared = 0; // records whose algorithms have other versions in this lathe
  for (const store::TunedTask &task : store.tunedTasks(flags.select.filter))
    for (const TuningRecord &record : task.records) {
      table.row({processors.of(record.platform), millisecondsText(record.seconds),
                 std::string(shownName(record.status)), record.reason, record.schedule, record.task,
                 verdictText(record), record.samples.empty() ? "" : std::to_string(record.samples.size()),
                 record.searcher, spentText(record), record.measured.substr(0, 19) + "Z", record.version});
      records.push_back(documentOf(record, task.task, processors));
      undeclared += flags.shipped && !isDeclared(record.schedule);
    }
  json document = {{"store", store.path()}, {"records", records}};
  if (flags.shipped)
    document["undeclared"] = undeclared;
  if (options.printsText()) {
    std::cout << table.str(options.tableStyle(flags.rows));
    std::cout << fmt::format("{}: {}\n", store.path(), recordsText(records.size()));
    if (undeclared)
      std::cout << fmt::format("{} not used: this lathe does not know the schedule\n",
                               undeclared == 1 ? "1 of them is" : fmt::format("{} of them are", undeclared));
  }
  options.writeJson(document);
  return success;
}

/// The schedules that were tried for a task on one platform.
struct Tried {
  const TuningRecord *best = nullptr; // the fastest one that passed
  size_t trials = 0;
  std::map<store::PointStatus, size_t> failures;

  void add(const TuningRecord &record) {
    ++trials;
    if (record.status != store::PointStatus::passed && record.status != store::PointStatus::notVerified)
      ++failures[record.status];
    else if (!best && record.seconds) // records are sorted by time
      best = &record;
  }
};

std::string scheduleText(const TuningRecord &record) {
  bool isVerified = record.status != store::PointStatus::notVerified;
  return isVerified ? record.schedule : fmt::format("({}) {}", shownName(record.status), record.schedule);
}

int recordsBest(const Arguments &arguments) {
  ShowFlags flags;
  Options options(
      "records best",
      "Show the fastest schedule of each task and platform that passed, with the number of schedules that were\n"
      "tried, and of those that failed, by kind.",
      "  lathe records best\n  lathe records best --family contraction --json best.json\n");
  flags.add(options, false);
  options.parseAll(arguments);
  store::Store store = flags.open();
  Processors processors(store);
  Table table({textColumn("CPU").drop(3).shrink(12), numberColumn("", "ms"), numberColumn("trials"),
               textColumn("failures").drop(1).shrink(10), textColumn("verdict").drop(2),
               textColumn("schedule").shrink(16), textColumn("task").shrink(20)});
  json tasks = json::array();
  for (const store::TunedTask &task : store.tunedTasks(flags.select.filter)) {
    std::map<std::string, Tried> platforms;
    for (const TuningRecord &record : task.records)
      platforms[record.platform].add(record);
    for (auto &[platform, tried] : platforms) {
      const TuningRecord *best = tried.best;
      json failures = json::object();
      for (auto &[status, count] : tried.failures)
        failures[std::string(name(status))] = count;
      table.row({processors.of(platform), best ? millisecondsText(best->seconds) : "", std::to_string(tried.trials),
                 countsText(tried.failures), best ? verdictText(*best) : "", best ? scheduleText(*best) : "none passed",
                 task.task.text});
      tasks.push_back({{"task", task.task.text},
                       {"family", task.task.family},
                       {"platform", platform},
                       {"cpu", processors.of(platform)},
                       {"trials", tried.trials},
                       {"failures", failures},
                       {"best", best ? store::toJson(*best) : json()}});
    }
  }
  if (options.printsText()) {
    std::cout << table.str(options.tableStyle(flags.rows));
    std::cout << fmt::format("{}: {}\n", store.path(), counted(int64_t(tasks.size()), "tuned task"));
  }
  options.writeJson({{"store", store.path()}, {"tasks", tasks}});
  return success;
}

int recordsExport(const Arguments &arguments) {
  StoreFlags flags;
  SelectFlags select;
  std::string file;
  Options options(
      "records export",
      "Write tuning records, with their tasks, platforms and experiments, as an archive of JSON lines, which\n"
      "`lathe records import` and `lathe store import` read. A FILE whose name ends in .gz is compressed.",
      "  lathe records export all.jsonl.gz\n  lathe records export - --cpu znver4 --status passed\n");
  options.addOutput("file", file, "file to write (-: standard output)")->required();
  select.add(options, true);
  flags.add(options);
  options.addJson();
  options.parseAll(arguments);
  store::Store store = flags.open();
  store::Store::Counts counts = store::exportTuning(store, select.filter, file);
  if (options.printsText())
    std::cout << fmt::format("{}: {} of {}\n", file, recordsText(size_t(counts.tuning)),
                             counted(counts.platforms, "platform"));
  options.writeJson({{"file", file}, {"counts", countsJson(counts)}});
  return success;
}

int recordsImport(const Arguments &arguments) {
  StoreFlags flags;
  std::vector<std::string> files;
  Options options(
      "records import",
      "Add the tuning records of archives and store files, and logs of AutoTVM 0.2 for viewing, to the store. All\n"
      "files are checked first; then either all are added or none. Records of one schedule for one task on one\n"
      "platform become one: it has all times, and the verdict of the last comparison with the default schedule.",
      "  lathe records import laptop.jsonl.gz server.db\n  lathe records import resnet50_autotvm.log\n");
  options.add_option("file", files, "archives, store files and logs of AutoTVM")->required();
  flags.add(options);
  options.addJson();
  options.parseAll(arguments);
  return importFiles(options, flags.path(), files, store::Imported::tuning);
}

int recordsMerge(const Arguments &arguments) {
  std::string into;
  std::vector<std::string> files;
  Options options(
      "records merge",
      "Merge the tuning records of archives, store files and logs of AutoTVM into the store file INTO, which is\n"
      "created if it does not exist.",
      "  lathe records merge all.db laptop.jsonl.gz server.db\n");
  options.add_option("into", into, "store file to write")->required();
  options.add_option("file", files, "archives, store files and logs of AutoTVM")->required();
  options.addJson();
  options.parseAll(arguments);
  return importFiles(options, into, files, store::Imported::tuning);
}

struct PruneFlags {
  StoreFlags store;
  SelectFlags select;
  size_t keep = 0;
  bool keeps = false, failures = false, otherVersions = false, dryRun = false;

  void add(Options &options) {
    auto *most = options.add_option("--keep", keep,
                                    "Remove what passed beyond the N fastest of each task and platform; schedules that "
                                    "were compared with the default stay");
    most->type_name("N");
    options.add_flag("--failures", failures, "Remove records without a time");
    options.add_flag("--other-versions", otherVersions, "Remove records of other versions of lathe");
    options.add_flag("--dry-run", dryRun, "Say what would be removed, and remove nothing");
    select.add(options, false);
    store.add(options);
    options.addJson();
    options.afterParse([this, most] {
      keeps = most->count() > 0;
      require(keeps || failures || otherVersions, "expected --keep N, --failures or --other-versions: what to remove");
    });
  }
};

/// The records to remove, grouped by the reason.
struct Pruned {
  std::vector<TuningRecord> records;
  size_t otherVersions = 0, failures = 0, slower = 0;

  void add(const TuningRecord &record, size_t &reason) {
    records.push_back(record);
    ++reason;
  }
  json reasons() const { return {{"other_versions", otherVersions}, {"failures", failures}, {"slower", slower}}; }
  std::string text() const {
    return fmt::format("{} of other versions, {} without a time, {} slower than those kept", otherVersions, failures,
                       slower);
  }
};

Pruned choosePruned(const PruneFlags &flags, const std::vector<store::TunedTask> &tasks) {
  Pruned pruned;
  for (const store::TunedTask &task : tasks) {
    std::map<std::string, size_t> passed; // by platform
    for (const TuningRecord &record : task.records)
      if (flags.otherVersions && record.version != LATHE_VERSION)
        pruned.add(record, pruned.otherVersions);
      else if (!record.seconds && flags.failures)
        pruned.add(record, pruned.failures);
      else if (record.seconds && flags.keeps && ++passed[record.platform] > flags.keep &&
               record.verdict == store::TuningVerdict::open)
        pruned.add(record, pruned.slower);
  }
  return pruned;
}

int recordsPrune(const Arguments &arguments) {
  PruneFlags flags;
  Options options(
      "records prune",
      "Remove tuning records that are not needed any more, and say how many and why. Filters restrict what may\n"
      "be removed.",
      "  lathe records prune --keep 20 --dry-run\n"
      "  lathe records prune --failures --other-versions\n"
      "  lathe records prune --task autotvm/ --keep 0 --failures     (imported logs)\n");
  flags.add(options);
  options.parseAll(arguments);
  flags.store.open(); // reports a missing store
  store::Store store(flags.store.path(), {.create = false});
  auto all = size_t(store.counts().tuning);
  Pruned pruned = choosePruned(flags, store.tunedTasks(flags.select.filter));
  size_t removed = flags.dryRun ? pruned.records.size() : store.removeTuning(pruned.records);
  if (options.printsText())
    std::cout << fmt::format("{}: {} {} of {}: {}\n", store.path(), flags.dryRun ? "would remove" : "removed", removed,
                             recordsText(all), pruned.text());
  options.writeJson({{"store", store.path()},
                     {"removed", removed},
                     {"kept", all - removed},
                     {"dry_run", flags.dryRun},
                     {"reasons", pruned.reasons()}});
  return success;
}

int recordsShip(const Arguments &arguments) { return forwardToCompiler("ship", arguments); }

const Verb recordsVerbs[] = {
    {"list", "List tuning records", recordsList},
    {"best", "Show the fastest schedule of each task", recordsBest},
    {"export", "Write tuning records as an archive", recordsExport},
    {"import", "Add tuning records of archives, store files and logs of AutoTVM", recordsImport},
    {"merge", "Merge tuning records of several files into the store file named first", recordsMerge},
    {"prune", "Remove tuning records that are not needed any more", recordsPrune},
    {"ship", "Write the best tuning records as the archive that comes with lathe", recordsShip},
};

} // namespace

int recordsVerb(const Arguments &arguments) {
  return runSubVerb(
      "records",
      "Manage tuning records: schedules that were measured for a task, with their times. Compilations use\n"
      "the best ones (docs/records.md).\n",
      recordsVerbs,
      "  lathe records best\n"
      "  lathe records export machine.jsonl.gz\n"
      "  lathe records import server.jsonl.gz\n"
      "  lathe records prune --keep 20 --dry-run\n",
      arguments);
}

} // namespace lathe::cli
