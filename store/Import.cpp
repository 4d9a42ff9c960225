#include "store/Archive.h"

#include <filesystem>
#include <fstream>

namespace lathe::store {

/// Writes records inside the caller's transaction and counts what became of them.
class Importer {
public:
  explicit Importer(Store &store) : store(store) {}

  void add(const Record &record) {
    if (auto *platform = std::get_if<Platform>(&record))
      count(counts.platforms, store.insertPlatform(*platform));
    else if (auto *experiment = std::get_if<Experiment>(&record))
      count(counts.experiments, store.insertExperiment(*experiment));
    else if (auto *tuning = std::get_if<TuningRecord>(&record))
      count(counts.tuning, store.insertTuning(*tuning));
    else
      add(std::get<Point>(record));
  }

  ImportCounts counts;

private:
  void add(const Point &point) {
    Store::Outcome outcome = store.insertPoint(point);
    count(counts.points, outcome);
    if (outcome != Store::Outcome::known)
      counts.samples += point.sampleCount();
  }
  static void count(ImportCounts::Kind &kind, Store::Outcome outcome) {
    kind.added += outcome == Store::Outcome::added;
    kind.replaced += outcome == Store::Outcome::replaced;
    kind.known += outcome == Store::Outcome::known;
  }

  Store &store;
};

namespace {

/// A file that was read once, and found to be whole.
class Source {
public:
  explicit Source(const std::string &path) : path(path) {
    require(!std::filesystem::is_directory(path), "{}: expected a file, got a directory", path);
    std::ifstream file(path, std::ios::binary);
    std::string magic(15, '\0');
    file.read(magic.data(), std::streamsize(magic.size()));
    if (magic == "SQLite format 3")
      database.emplace(Store::copyOf(path));
    read([](const Record &) {});
  }
  void read(const std::function<void(const Record &)> &visit) {
    if (database)
      eachRecord(*database, {}, visit);
    else
      readArchive(path, visit);
  }

private:
  std::string path;
  std::optional<Store> database; // a copy: nobody changes it between the two readings
};

} // namespace

ImportCounts importInto(Store &store, const std::vector<std::string> &paths) {
  std::vector<Source> sources(paths.begin(), paths.end());
  Importer importer(store);
  Transaction transaction(store.connection());
  // An archive that changed since it was checked fails its own sum here, and all is rolled back.
  for (Source &source : sources)
    source.read([&](const Record &record) { importer.add(record); });
  transaction.commit();
  return importer.counts;
}

} // namespace lathe::store
