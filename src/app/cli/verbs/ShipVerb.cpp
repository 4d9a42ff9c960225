// `lathe records ship`: writes the archive of the best tuning records that comes with lathe (docs/records.md, "Shipped
// records").
#include "cli/CompilerVerbs.h"
#include "cli/flags/StoreFlags.h"
#include "jobs/records/ShipRecords.h"
#include "support/Text.h"

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
  ShippedArchive archive = shipRecords(store, folder);
  if (options.printsText())
    std::cout << fmt::format("{}: {}; {} added, {} changed, {} removed\n", archive.file,
                             counted(int64_t(archive.records), "tuning record"), archive.added, archive.changed,
                             archive.removed);
  options.writeJson({{"file", archive.file},
                     {"machine", archive.machine},
                     {"records", archive.records},
                     {"added", archive.added},
                     {"changed", archive.changed},
                     {"removed", archive.removed}});
  return success;
}

} // namespace lathe::cli
