// The tuning records that compilations use (docs/records.md). compile/ gets schedules by the text of their task, and
// does not know the store.
#pragma once

#include "jobs/ModelOptions.h"
#include "jobs/ShippedRecords.h"

#include "runtime/Model.h"
#include "store/Records.h"
#include "support/BatchOrder.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace lathe::store {
class Store;
}

namespace lathe::jobs {

/// The text of a task for times of whole kernels that decide about graphs: `task` with a prefix. Compilations find no
/// schedule under this text.
std::string graphTask(const std::string &task, BatchOrder order);
/// The records of one platform whose text is a graphTask, by text and schedule. Their time is the time of the leading
/// outcome.
using GraphRecords = std::map<std::pair<std::string, std::string>, store::TuningRecord>;
GraphRecords graphRecords(store::Store &store, const std::string &platform);

/// Schedules by task: of the best records in a store (store::Store::chosenSchedules), and of the records that come with
/// lathe. Also the times that decide about graphs. All are a snapshot of one moment.
class UsedRecords {
public:
  /// Reads the store that `flags` name, or the default one. Is empty with --no-records,
  /// --references-only or LATHE_NO_RECORDS in the environment, and where there is no default store.
  /// A default store that cannot be read is said on stderr. Throws Error if a store that was named
  /// is missing or cannot be read.
  explicit UsedRecords(const ModelOptions &flags);
  /// Adds the shipped records for a kind of machine (Target::key), unless the flags are without
  /// records. A damaged archive is said on stderr.
  void addShipped(const std::string &machine);

  struct Entry {
    std::string schedule;
    std::string origin; // "the record of 2026-11-23 in lathe.db", or "... shipped with lathe"
  };
  /// Returns the schedule for the text of a task (codegen/Task.h), or nothing. The store's record of a task comes
  /// before the shipped one. If neither has the task, a kernel with open extents uses a record of the same kernel with
  /// extent 1. A kernel with extent 1 uses the store's record of the open one.
  std::optional<Entry> find(const std::string &task) const;
  /// Returns the seconds of a schedule for a task on this platform, or nothing. Only records count whose graph was
  /// faster than the default graph.
  std::optional<double> seconds(const std::string &task, const std::string &schedule, BatchOrder order) const;
  /// True if no record is used, before and after addShipped.
  bool empty() const { return entries.empty() && times.empty() && archives.empty(); }
  bool hasTimes() const { return !times.empty(); }
  /// Hash of all entries, times and shipped archives; "" if there are none. Equal texts mean equal packages.
  std::string digest() const;

private:
  void read(const std::string &path);
  std::optional<Entry> findShipped(const std::string &task) const;

  std::map<std::string, Entry> entries;                        // schedule of each task; "": the default schedule
  std::map<std::string, std::string> openTasks;                // texts with an entry, by the text with extent 1
  std::map<std::pair<std::string, std::string>, double> times; // seconds by text of the graph task and schedule
  std::string archives;                                        // shippedIdentity, if shipped records may be used
  std::optional<ShippedRecords> shipped;
};

/// How a compiled model uses tuning records: kernels that have schedules of records.
struct RecordUse {
  int kernels = 0; // kernels with a schedule of a record
  int shipped = 0; // those whose record came with lathe
  int all = 0;
  /// Hash of these schedules with the names of their kernels, and of a graph that measured times chose; "" if there are
  /// none.
  std::string digest;

  /// Counts a kernel with this schedule. `origin` says where it comes from, in the form that plans have
  /// (package/plan.fbs).
  void add(const std::string &kernel, const std::string &schedule, const std::string &origin);
  /// Adds the graph of a plan to the hash if measured times chose it.
  void addGraph(const runtime::Plan &plan);
  /// "12 of 56 kernels have schedules of records in FILE (--no-records compiles without)", or
  /// "... of records shipped with lathe"; "" if there are none.
  std::string line(const ModelOptions &flags) const;
};
/// Reads the use of records from a package.
RecordUse recordUse(const runtime::Model &package);
/// Makes the use of records from the number of kernels of each origin (CompileReport::origins).
RecordUse recordUse(const std::map<std::string, int> &origins);

} // namespace lathe::jobs
