// The tuning records that compilations use (docs/records.md). compile/ gets schedules by the text
// of their task, and knows no store.
#pragma once

#include "cli/ModelFlags.h"

#include "runtime/Model.h"

#include <map>
#include <optional>
#include <string>

namespace lathe::cli {

/// Schedules of the best records in a store, by task (store::Store::chosenSchedules), as of one
/// moment.
class UsedRecords {
public:
  /// Reads the store that `flags` name, or the default one. Is empty with --no-records,
  /// --references-only or LATHE_NO_RECORDS in the environment, and where there is no default store.
  /// A default store that cannot be read is said on stderr. Throws Error if a store that was named
  /// is missing or cannot be read.
  explicit UsedRecords(const ModelFlags &flags);

  struct Entry {
    std::string schedule;
    std::string origin; // "the record of 2026-11-23 in lathe.db"
  };
  /// Returns the schedule for the text of a task (codegen/Task.h), or nothing.
  std::optional<Entry> find(const std::string &task) const;
  bool empty() const { return entries.empty(); }
  /// Hash of all entries; "" if there are none. Equal texts mean equal packages.
  std::string digest() const;

private:
  void read(const std::string &path);

  std::map<std::string, Entry> entries;
};

/// Kernels of a compiled model whose schedules are those of records.
struct RecordUse {
  int kernels = 0; // with a schedule of a record
  int all = 0;
  std::string digest; // hash of these schedules with the names of their kernels; "" if there are none

  /// `origin`: as plans keep it (package/plan.fbs).
  void add(const std::string &kernel, const std::string &schedule, const std::string &origin);
  /// "12 of 56 kernels have schedules of records in FILE (--no-records compiles without)"; "" if
  /// there are none.
  std::string line(const ModelFlags &flags) const;
};
/// Of a package.
RecordUse recordUse(const runtime::Model &package);
/// Of the numbers of kernels by origin (CompileReport::origins).
RecordUse recordUse(const std::map<std::string, int> &origins);

} // namespace lathe::cli
