// `lathe records`: lists which schedules were measured for which tasks, and their results (docs/records.md).
#include "cli/FrontVerbs.h"
#include "cli/flags/RecordsFlags.h"
#include "cli/print/RecordsPrint.h"
#include "cli/verbs/store/StoreImport.h"
#include "store/Archive.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {
namespace {

using nlohmann::json;

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
  RecordList list = listRecords(store, flags.filter);
  json document = {{"store", store.path()}, {"records", recordsJson(list)}};
  if (flags.shipped)
    document["undeclared"] = list.undeclared;
  if (options.printsText()) {
    std::cout << recordsTable(list).str(options.tableStyle(flags.rows));
    std::cout << fmt::format("{}: {}\n", store.path(), recordsText(list.count));
    if (flags.shipped && list.undeclared)
      std::cout << fmt::format("{} not used: this lathe does not know the schedule\n",
                               list.undeclared == 1 ? "1 of them is" : fmt::format("{} of them are", list.undeclared));
  }
  options.writeJson(document);
  return success;
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
  std::vector<TriedTask> tasks = triedTasks(store, flags.filter);
  if (options.printsText())
    std::cout << triedTable(tasks).str(options.tableStyle(flags.rows))
              << fmt::format("{}: {}\n", store.path(), counted(int64_t(tasks.size()), "tuned task"));
  options.writeJson({{"store", store.path()}, {"tasks", triedJson(tasks)}});
  return success;
}

int recordsExport(const Arguments &arguments) {
  StoreFlags flags;
  SelectFlags select;
  store::TuningFilter filter;
  std::string file;
  Options options(
      "records export",
      "Write tuning records, with their tasks, platforms and experiments, as an archive of JSON lines, which\n"
      "`lathe records import` and `lathe store import` read. A FILE whose name ends in .gz is compressed.",
      "  lathe records export all.jsonl.gz\n  lathe records export - --cpu znver4 --status passed\n");
  options.addOutput("file", file, "file to write (-: standard output)")->required();
  select.add(options, filter, true);
  flags.add(options);
  options.addJson();
  options.parseAll(arguments);
  store::Store store = flags.open();
  store::Store::Counts counts = store::exportTuning(store, filter, file);
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
  store::Store store = flags.store.openToWrite();
  Pruned pruned = pruneRecords(store, flags.job);
  if (options.printsText())
    std::cout << fmt::format("{}: {} {} of {}: {} of other versions, {} without a time, {} slower than those kept\n",
                             store.path(), flags.job.dryRun ? "would remove" : "removed", pruned.removed,
                             recordsText(pruned.all), pruned.otherVersions, pruned.failures, pruned.slower);
  options.writeJson(
      {{"store", store.path()},
       {"removed", pruned.removed},
       {"kept", pruned.all - pruned.removed},
       {"dry_run", flags.job.dryRun},
       {"reasons",
        {{"other_versions", pruned.otherVersions}, {"failures", pruned.failures}, {"slower", pruned.slower}}}});
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
