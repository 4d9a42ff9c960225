// Reads and removes the tuning records of a store (docs/records.md).
#pragma once

#include "store/Store.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::jobs {

/// The records that come with lathe, as a store.
store::Store shippedStore();

struct RecordList {
  std::vector<store::TunedTask> tasks;
  std::map<std::string, std::string> processors; // names of CPUs, by key of the platform
  size_t count = 0;                              // records
  size_t undeclared = 0;                         // of them, those whose schedule this lathe does not know
};
RecordList listRecords(store::Store &store, const store::TuningFilter &filter);

/// The schedules that were tried for a task on one platform.
struct TriedTask {
  store::TuningTask task;
  std::string platform, cpu;
  std::optional<store::TuningRecord> best = {}; // the fastest one that passed
  size_t trials = 0;
  std::map<store::PointStatus, size_t> failures = {};
};
std::vector<TriedTask> triedTasks(store::Store &store, const store::TuningFilter &filter);

/// What is removed.
struct PruneJob {
  store::TuningFilter filter; // restricts what may be removed
  /// All records with a time but this number of the fastest ones of each task and platform. Schedules that were
  /// compared with the default stay.
  std::optional<size_t> keep;
  bool failures = false;      // records without a time
  bool otherVersions = false; // records of other versions of lathe
  bool dryRun = false;        // only count
};
/// Numbers of records.
struct Pruned {
  size_t all = 0, removed = 0;
  size_t otherVersions = 0, failures = 0, slower = 0; // reasons
};
Pruned pruneRecords(store::Store &store, const PruneJob &job);

} // namespace lathe::jobs
