// `lathe records ship`: writes the archive of tuning records that comes with lathe.
#include "cli/CompilerVerbs.h"
#include "cli/flags/StoreFlags.h"
#include "codegen/target/Target.h"
#include "jobs/ShippedRecords.h"
#include "jobs/tune/ShipRecords.h"
#include "support/Text.h"

#include <filesystem>
#include <iostream>

namespace lathe::cli {

int shipVerb(const Arguments &arguments) {
  std::string folder;
  StoreFlags flags;
  Options options(
      "records ship",
      "Write the best tuning records of this kind of machine as the archive in FOLDER that comes with lathe: of each\n"
      "task the fastest schedule that was faster than the default in turns. Records of the archive stay where the\n"
      "store has not compared their task.",
      "  lathe records ship data/records\n");
  options.add_option("folder", folder, "folder of the archives, one for each kind of machine")->required();
  flags.add(options);
  options.addJson();
  options.parseAll(arguments);
  store::Store store = flags.open();
  std::string machine = Target::parse("native").key();
  std::string file = (std::filesystem::path(folder) / archiveName(machine)).string();
  ShippedChanges changes = shipRecords(store, machine, file);
  if (options.printsText())
    std::cout << fmt::format("{}: {}; {} added, {} changed, {} removed\n", file,
                             counted(int64_t(changes.records), "tuning record"), changes.added, changes.changed,
                             changes.removed);
  options.writeJson({{"file", file},
                     {"machine", machine},
                     {"records", changes.records},
                     {"added", changes.added},
                     {"changed", changes.changed},
                     {"removed", changes.removed}});
  return success;
}

} // namespace lathe::cli
