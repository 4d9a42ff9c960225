// The tuning records that compilations use (docs/records.md). compile/ gets schedules by the text
// of their task, and knows no store.
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

/// The text under which the store keeps times of the kernel with this task that were measured for decisions about graphs.
/// Compilations find no schedule under it.
std::string graphTask(const std::string &task, BatchOrder order);
/// The records under such texts on a platform, by text and schedule, with the time of their leading outcome.
using GraphRecords = std::map<std::pair<std::string, std::string>, store::TuningRecord>;
GraphRecords graphRecords(store::Store &store, const std::string &platform);

/// The text of the task of the same kernel with extent 1 where extents are open (`?`); nothing if no extent is, or if one is
/// the height or width of a convolution (`?56`), whose code depends on it.
std::optional<std::string> withoutOpenExtents(const std::string &task);

/// Schedules of the best records in a store, by task (store::Store::chosenSchedules), and the times that decide about
/// graphs, as of one moment; and the schedules of the records that come with lathe.
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
  /// Returns the schedule for the text of a task (codegen/Task.h), or nothing. What the store has
  /// compared with the default schedule comes before shipped records. What is known of a kernel with
  /// open extents serves the same kernel with extent 1, and the reverse, where nothing else is known.
  std::optional<Entry> find(const std::string &task) const;
  /// Returns the seconds of a schedule for a task on this platform, of records whose graph was faster than the default
  /// one, or nothing.
  std::optional<double> seconds(const std::string &task, const std::string &schedule, BatchOrder order) const;
  /// True if no record is used, before and after addShipped.
  bool empty() const { return entries.empty() && times.empty() && archives.empty(); }
  bool hasTimes() const { return !times.empty(); }
  /// Hash of all entries, times and shipped archives; "" if there are none. Equal texts mean equal
  /// packages.
  std::string digest() const;

private:
  void read(const std::string &path);
  std::optional<Entry> findShipped(const std::string &task) const;

  std::map<std::string, Entry> entries;                        // without a schedule: the default stays
  std::map<std::string, std::string> openTasks;                // with an entry, by the text with extent 1
  std::map<std::pair<std::string, std::string>, double> times; // seconds by text of the graph task and schedule
  std::string archives;                                        // shippedIdentity, if shipped records may be used
  std::optional<ShippedRecords> shipped;
};

/// Kernels of a compiled model whose schedules are those of records.
struct RecordUse {
  int kernels = 0; // with a schedule of a record
  int shipped = 0; // of these: the record came with lathe
  int all = 0;
  /// Hash of these schedules with the names of their kernels, and of a graph that measured times chose; "" if there is
  /// neither.
  std::string digest;

  /// `origin`: as plans keep it (package/plan.fbs).
  void add(const std::string &kernel, const std::string &schedule, const std::string &origin);
  /// Adds the graph of a plan where measured times chose it.
  void addGraph(const runtime::Plan &plan);
  /// "12 of 56 kernels have schedules of records in FILE (--no-records compiles without)", or
  /// "... of records shipped with lathe"; "" if there are none.
  std::string line(const ModelOptions &flags) const;
};
/// Of a package.
RecordUse recordUse(const runtime::Model &package);
/// Of the numbers of kernels by origin (CompileReport::origins).
RecordUse recordUse(const std::map<std::string, int> &origins);

} // namespace lathe::jobs
