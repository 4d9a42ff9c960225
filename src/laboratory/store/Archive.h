// Export of measurements to archive files, and import of archives, store files and logs of AutoTVM
// (docs/store.md, "Archives").
#pragma once

#include "store/Store.h"
#include "support/archive/RecordArchive.h"

#include <string>
#include <variant>
#include <vector>

namespace lathe::store {

using Record = std::variant<Platform, Experiment, Point, TuningRecord, TuningTask, Label>;

/// Calls `visit` for every record that `filter` selects; a record comes after the records that it refers to. Tuning
/// records are included only if the filter restricts nothing or selects the kind `tune`. Labels come last: the labels
/// of all visited records, or all labels if the filter restricts nothing. The order depends only on the content.
void eachRecord(Store &store, const Filter &filter, const std::function<void(const Record &)> &visit);

/// Calls `visit` for every tuning record that `filter` selects, after the records that it refers to.
void eachTuning(Store &store, const TuningFilter &filter, const std::function<void(const Record &)> &visit);

/// Write the records that `filter` selects as JSON lines, compressed if `path` ends in .gz. Equal
/// content gives equal files. Return the number of records written.
Store::Counts exportArchive(Store &store, const Filter &filter, const std::string &path);
Store::Counts exportTuning(Store &store, const TuningFilter &filter, const std::string &path);

/// Calls `visit` for every record of an archive; a record comes after the records that it refers
/// to. Throws Error with the line number for a file that is damaged, truncated, of a newer format
/// or not an archive. Some damage is only found at the end of the file, after calls of `visit`.
void readArchive(const std::string &path, const std::function<void(const Record &)> &visit);

/// The tuning records of an uncompressed archive, found by the text of their task. Checks the hash of the whole file,
/// but parses only requested records.
class ArchiveIndex {
public:
  /// Throws Error as RecordArchive does.
  explicit ArchiveIndex(const std::string &path) : records(path) {}
  /// Returns the record of the task, or nothing. Throws Error for a record with an impossible value.
  std::optional<TuningRecord> find(const std::string &task) const;
  size_t size() const { return records.size(); }

private:
  RecordArchive records;
};

struct ImportCounts {
  struct Kind {
    size_t added = 0, replaced = 0, known = 0;
  };
  Kind platforms, experiments, points, tuning, labels;
  size_t samples = 0;             // samples of added and replaced points
  std::vector<std::string> notes; // lines about skipped parts of the files
};

enum class Imported {
  everything,
  tuning // tuning records, and the platforms and experiments they refer to
};

/// Reads a file once: calls `visit` for every record, after the records that it refers to, and adds a line to `notes`
/// for each skipped part. Throws Error for a damaged file.
using RecordSource =
    std::function<void(const std::function<void(const Record &)> &visit, std::vector<std::string> &notes)>;

/// True if the file is a database of SQLite.
bool isStoreFile(const std::string &path);
/// The records of an archive, a store file or a log of AutoTVM (store/AutoTvm.h), recognised by content.
RecordSource sourceOf(const std::string &path);

/// Imports files into `store`. All files are read and checked first; then either everything is written or nothing. Of
/// two measurements of one point the later one stays, and records of one schedule merge (store/Outcomes.h). So the
/// order of the files does not matter, and importing a file twice changes nothing.
ImportCounts importSources(Store &store, const std::vector<RecordSource> &sources,
                           Imported what = Imported::everything);
/// Imports files: the sources that sourceOf gives for these paths.
ImportCounts importInto(Store &store, const std::vector<std::string> &paths, Imported what = Imported::everything);

} // namespace lathe::store
