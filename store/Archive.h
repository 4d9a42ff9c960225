// Measurements as one file to send and to keep, and what comes back from many of them (docs/store.md, "Archives").
#pragma once

#include "store/Store.h"

#include <string>
#include <variant>
#include <vector>

namespace lathe::store {

using Record = std::variant<Platform, Experiment, Point, TuningRecord>;

/// Calls `visit` for every record that `filter` chooses, what others refer to first; of tuning records only where it
/// restricts nothing or asks for the kind `tune`. In an order that depends on the content alone.
void eachRecord(Store &store, const Filter &filter, const std::function<void(const Record &)> &visit);

/// Writes what `filter` chooses as JSON lines, compressed where the name ends in .gz. Equal content makes equal
/// files. Returns what was written.
Store::Counts exportArchive(Store &store, const Filter &filter, const std::string &path);

/// Calls `visit` for every record of an archive; what a record refers to comes before it. Throws Error, naming the
/// line, for a file that is damaged, cut, of a newer format or no archive; some of that is only known at the end.
void readArchive(const std::string &path, const std::function<void(const Record &)> &visit);

struct ImportCounts {
  struct Kind {
    size_t added = 0, replaced = 0, known = 0;
  };
  Kind platforms, experiments, points, tuning;
  size_t samples = 0; // of points added and replaced
};

/// Takes over what archives and store files hold. All of them are read and checked before anything is written, then all
/// is written at once or nothing. Of two measurements of the same point, and of the same schedule, the later one stays,
/// so the order of files does not matter and what was imported before changes nothing.
ImportCounts importInto(Store &store, const std::vector<std::string> &paths);

} // namespace lathe::store
