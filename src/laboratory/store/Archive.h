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

/// Calls `visit` for every record of a store that `filter` selects; a record comes after the records that it
/// refers to. Tuning records are included only if the filter restricts nothing or selects the kind `tune`.
/// Labels come last: the labels of all visited records, or all labels if the filter restricts nothing. The order
/// depends only on the content of the store.
void eachRecord(Store &store, const Filter &filter, const std::function<void(const Record &)> &visit);

/// Calls `visit` for every tuning record of a store that `filter` selects, after the platform, task and
/// experiments that the record refers to.
void eachTuning(Store &store, const TuningFilter &filter, const std::function<void(const Record &)> &visit);

/// Write the records of a store that `filter` selects as JSON lines, compressed if `path` ends in .gz. Stores
/// with equal content give equal files. Return the number of records written.
Store::Counts exportArchive(Store &store, const Filter &filter, const std::string &path);
Store::Counts exportTuning(Store &store, const TuningFilter &filter, const std::string &path);

/// Calls `visit` for every record of an archive; a record comes after the records that it refers
/// to. Throws Error with the line number for a file that is damaged, truncated, of a newer format
/// or not an archive. Some damage is only found at the end of the file, after calls of `visit`.
void readArchive(const std::string &path, const std::function<void(const Record &)> &visit);

/// Index of an uncompressed archive that finds tuning records by the text of their task. Checks the hash of the
/// whole file, but parses only the records that are asked for.
class ArchiveIndex {
public:
  /// Reads the archive and checks its hash. Throws Error as RecordArchive does.
  explicit ArchiveIndex(const std::string &path) : records(path) {}
  /// Returns the tuning record of the task, or nothing. Throws Error for a record with an impossible value.
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
  size_t samples = 0;             // number of samples in added and replaced points
  std::vector<std::string> notes; // messages about parts of the imported files that were skipped
};

enum class Imported {
  everything,
  tuning // import only tuning records, and the platforms and experiments that they refer to
};

/// Function that reads one file of measurements from beginning to end: calls `visit` for every record, after the
/// records that it refers to, and adds a line to `notes` for each skipped part. Throws Error for a damaged file.
using RecordSource =
    std::function<void(const std::function<void(const Record &)> &visit, std::vector<std::string> &notes)>;

/// True if the file is an SQLite database.
bool isStoreFile(const std::string &path);
/// Returns a reader of the records in an archive, a store file or a log of AutoTVM (store/AutoTvm.h). The kind
/// of file is recognised by content.
RecordSource sourceOf(const std::string &path);

/// Imports files into `store`. All files are read and checked first; then either everything is written or nothing. Of
/// two measurements of one point the later one stays, and records of one schedule merge (store/Outcomes.h). So the
/// order of the files does not matter, and importing a file twice changes nothing.
ImportCounts importSources(Store &store, const std::vector<RecordSource> &sources,
                           Imported what = Imported::everything);
/// Imports the records of the files at `paths` into a store: importSources with sourceOf of each path.
ImportCounts importInto(Store &store, const std::vector<std::string> &paths, Imported what = Imported::everything);

} // namespace lathe::store
