// The flags of `lathe records`.
#pragma once

#include "cli/flags/Describe.h"
#include "cli/flags/StoreFlags.h"
#include "jobs/records/Records.h"

namespace lathe::cli {

/// The flags --task, --family, --cpu, --platform, --status.
struct SelectFlags {
  std::vector<std::string> statuses;

  void add(Options &options, store::TuningFilter &filter, bool byStatus) {
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
    options.afterParse([this, &filter] {
      for (const std::string &status : statuses)
        filter.statuses.push_back(store::pointStatus(status));
    });
  }
};

/// Flags of the sub-verbs that show a table.
struct ShowFlags {
  StoreFlags store;
  SelectFlags select;
  store::TuningFilter filter;
  size_t rows = 40;
  bool shipped = false;

  store::Store open() const { return shipped ? shippedStore() : store.open(); }

  void add(Options &options, bool byStatus) {
    select.add(options, filter, byStatus);
    options.add_option("--rows", rows, "Show at most this many rows (0: all); JSON has all")->capture_default_str();
    store.add(options);
    options.add_flag("--shipped", shipped, "Show the records that come with lathe instead of a store")
        ->excludes(options.get_option("--store"));
    options.addWide();
    options.addJson();
  }
};

struct PruneFlags {
  StoreFlags store;
  SelectFlags select;
  PruneJob job;

  void add(Options &options) {
    options
        .add_option("--keep", job.keep,
                    "Remove what passed beyond the N fastest of each task and platform; schedules that were compared "
                    "with the default stay")
        ->type_name("N");
    options.add_flag("--failures", job.failures, "Remove records without a time");
    options.add_flag("--other-versions", job.otherVersions, "Remove records of other versions of lathe");
    options.add_flag("--dry-run", job.dryRun, "Say what would be removed, and remove nothing");
    select.add(options, job.filter, false);
    store.add(options);
    options.addJson();
    options.afterParse([this] {
      require(job.keep || job.failures || job.otherVersions,
              "expected --keep N, --failures or --other-versions: what to remove");
    });
  }
};

} // namespace lathe::cli
