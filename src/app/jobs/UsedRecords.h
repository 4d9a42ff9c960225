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

/// The text under which times of whole kernels are stored that decide about graphs: the text of the kernel's task with
/// a prefix. Compilations find no schedule under this text.
std::string graphTask(const std::string &task, BatchOrder order);
/// The tuning records of one platform and company (store::Company::str) whose text is a graphTask, by this text and
/// schedule. Their time is the time of the leading outcome.
using TimeRecords = std::map<std::pair<std::string, std::string>, store::TuningRecord>;
TimeRecords graphRecords(store::Store &store, const std::string &platform, const std::string &company = "");

/// The text under which times of a kernel on a team of threads are stored, for the choice of streams: the text of the
/// kernel's task with that number of threads and a prefix. Compilations find no schedule under this text.
std::string teamTask(const std::string &task);
/// The tuning records of one platform, alone, whose text is a teamTask, like graphRecords.
TimeRecords teamRecords(store::Store &store, const std::string &platform);
/// The text under which choices of streams for a plan (StreamsReport::plan) are stored that were compared with a
/// sequence. `target` as in Target::key.
std::string streamTask(const std::string &plan, int threads, const std::string &target);

/// What compilations take from tuning records: schedules by task, from the best records in a store
/// (store::Store::chosenSchedules) and from the records that come with lathe, and the times that decide about graphs.
/// All are a snapshot of one moment.
class UsedRecords {
public:
  /// Reads the store that `flags` name, or the default store. Is empty with --no-records, --references-only or
  /// LATHE_NO_RECORDS in the environment, and if there is no default store. A default store that cannot be read is
  /// reported on stderr. Throws Error if a store that was named is missing or cannot be read.
  explicit UsedRecords(const ModelOptions &flags);
  /// Adds the shipped records for a kind of machine (Target::key), unless the flags exclude records. A damaged archive
  /// is reported on stderr.
  void addShipped(const std::string &machine);

  struct Entry {
    std::string schedule;
    std::string origin; // such as "the record of 2026-11-23 in lathe.db", or "... shipped with lathe"
  };
  /// Returns the schedule for the text of a task (codegen/Task.h), or nothing. The store's record of a task is
  /// preferred to the shipped one. If neither has the task, a kernel with open extents uses a record of the same
  /// kernel with extent 1, and a kernel with extent 1 uses the store's record of the same kernel with open extents.
  /// With company, records in this company come before all of these, also where they found no gain.
  std::optional<Entry> find(const std::string &task) const;
  /// Returns the seconds of a schedule for a graph task on this platform, or nothing. Only records count whose graph
  /// was faster than the default graph. With company the times are those in this company if there is any, else those
  /// alone: times of both kinds are never compared.
  std::optional<double> seconds(const std::string &task, const std::string &schedule, BatchOrder order) const;
  /// Returns the choice of streams for a streamTask; nothing if none was measured. Its schedule is "" if no choice was
  /// faster than a sequence.
  std::optional<Entry> streams(const std::string &task) const;
  /// Returns the seconds of a schedule for a kernel's task on this platform, measured for the choice of streams.
  std::optional<double> teamSeconds(const std::string &task, const std::string &schedule) const;
  /// True if no record is used, before and after addShipped.
  bool empty() const {
    return alone.entries.empty() && !hasCompany() && times.empty() && archives.empty() && !hasStreams();
  }
  bool hasTimes() const { return !times.empty(); }
  bool hasStreams() const { return !streamEntries.empty() || !teamTimes.empty(); }
  /// True if a kernel has records in the company of the flags.
  bool hasCompany() const { return !together.entries.empty(); }
  /// Hash of all entries, times and shipped archives; "" if there are none. Equal texts mean equal packages.
  std::string digest() const;

private:
  /// Records of one company, or of kernels alone.
  struct Book {
    std::map<std::string, Entry> entries;         // schedule by text of the task; "": the default schedule
    std::map<std::string, std::string> openTasks; // texts of tasks with an entry, by the same text with extent 1

    void add(const std::string &task, Entry entry);
    const Entry *find(const std::string &task) const;
    /// The entry of the same kernel with extent 1 or with open extents.
    const Entry *findOther(const std::string &task) const;
  };

  void read(const std::string &path, const ModelOptions &flags);
  void readTimes(store::Store &store, const std::string &platform, const std::string &company);
  std::optional<Entry> findShipped(const std::string &task) const;

  using Times = std::map<std::pair<std::string, std::string>, double>; // seconds, by text of the task and schedule
  Book alone, together;                                                // together: in the company of the flags
  std::map<std::string, Entry> streamEntries; // choice of streams by text of the task; "": a sequence
  Times times, teamTimes;                     // of graph tasks, and of team tasks
  std::string archives;                       // shippedIdentity, if shipped records may be used
  std::optional<ShippedRecords> shipped;
};

/// How a compiled model uses tuning records: kernels that have schedules of records.
struct RecordUse {
  int kernels = 0;   // kernels with a schedule of a record
  int shipped = 0;   // number of kernels whose record came with lathe
  int inCompany = 0; // number of kernels whose record was measured in company
  int all = 0;
  /// Hash of the schedules from records with the names of their kernels, and of a graph that measured times chose; ""
  /// if there are neither.
  std::string digest;

  /// Counts a kernel with `schedule` if a record gave it. `origin` says where the schedule comes from, in the form
  /// that plans have (package/plan.fbs).
  void add(const std::string &kernel, const std::string &schedule, const std::string &origin);
  /// Adds the graph of a plan to the hash if measured times chose it.
  void addGraph(const runtime::Plan &plan);
  /// A line for the user: "12 of 56 kernels have schedules of records in FILE (--no-records compiles without)", or
  /// "... of records shipped with lathe"; "" if no kernel has.
  std::string line(const ModelOptions &flags) const;
};
/// Reads from a package how its kernels use tuning records.
RecordUse recordUse(const runtime::Model &package);
/// Summarises the use of tuning records from the number of kernels of each origin (CompileReport::origins).
RecordUse recordUse(const std::map<std::string, int> &origins);

} // namespace lathe::jobs
