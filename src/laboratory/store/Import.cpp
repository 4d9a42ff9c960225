#include "store/Archive.h"

#include "store/AutoTvm.h"
#include "store/Outcomes.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

namespace lathe::store {

/// Writes records inside the caller's transaction and counts the outcomes.
class Importer {
public:
  Importer(Store &store, Imported what) : store(store), what(what) {}

  void add(const Record &record) {
    std::visit([this](auto &value) { add(value); }, record);
  }

  ImportCounts counts;

private:
  void add(const Platform &platform) {
    if (what == Imported::everything)
      count(counts.platforms, store.insertPlatform(platform));
    else
      platforms[platform.key()] = platform;
  }
  void add(const Experiment &experiment) {
    if (what == Imported::everything)
      count(counts.experiments, store.insertExperiment(experiment));
    else
      experiments[experiment.uuid] = experiment;
  }
  void add(const TuningTask &task) {
    tasks[task.text] = task;
    writtenTasks.erase(task.text); // another file may know more about it
  }
  void add(const TuningRecord &record) {
    auto needPlatform = [&](const std::string &key) {
      addWaiting(platforms, key, counts.platforms, [&](auto &platform) { return store.insertPlatform(platform); });
    };
    needPlatform(record.platform);
    for (const TuningOutcome &outcome : outcomesOf(record))
      addWaiting(experiments, outcome.experiment, counts.experiments, [&](auto &experiment) {
        needPlatform(experiment.platform);
        return store.insertExperiment(experiment);
      });
    if (writtenTasks.insert(record.task).second) {
      auto task = tasks.find(record.task);
      store.insertTask(task == tasks.end() ? TuningTask{record.task, "", ""} : task->second);
    }
    count(counts.tuning, store.insertTuning(record));
  }
  void add(const Point &point) {
    if (what == Imported::tuning)
      return;
    Store::Outcome outcome = store.insertPoint(point);
    count(counts.points, outcome);
    if (outcome != Store::Outcome::known)
      counts.samples += point.sampleCount();
  }

  void add(const Label &label) {
    if (what == Imported::tuning)
      return;
    MergedLabel outcome = mergeLabel(store.connection(), label);
    counts.labels.added += outcome == MergedLabel::added;
    counts.labels.replaced += outcome == MergedLabel::changed;
    counts.labels.known += outcome == MergedLabel::known;
  }

  /// Inserts records that are needed only by later records.
  template <class Value, class Insert>
  static void addWaiting(std::map<std::string, Value> &waiting, const std::string &key, ImportCounts::Kind &kind,
                         Insert insert) {
    auto found = waiting.find(key);
    if (found == waiting.end())
      return;
    count(kind, insert(found->second));
    waiting.erase(found);
  }
  static void count(ImportCounts::Kind &kind, Store::Outcome outcome) {
    kind.added += outcome == Store::Outcome::added;
    kind.replaced += outcome == Store::Outcome::replaced;
    kind.known += outcome == Store::Outcome::known;
  }

  Store &store;
  Imported what;
  std::map<std::string, Platform> platforms; // not referred to by a record yet
  std::map<std::string, Experiment> experiments;
  std::map<std::string, TuningTask> tasks;
  std::set<std::string> writtenTasks; // by text
};

namespace {

/// An archive, a store file or a log of AutoTVM.
class File {
public:
  explicit File(const std::string &path) : path(path) {
    if (isServerUrl(path)) {
      copyServer();
      return;
    }
    std::error_code ignored;
    require(!std::filesystem::is_directory(path, ignored), "{}: expected a file, got a directory", path);
    if (isStoreFile(path))
      database.emplace(Store::copyOf(path));
    else
      isLog = isAutoTvmLog(path);
  }
  void read(const std::function<void(const Record &)> &visit, std::vector<std::string> &notes) {
    if (database)
      eachRecord(*database, Filter(), visit);
    else if (isLog)
      readAutoTvmLog(path, visit, notes);
    else
      readArchive(path, visit);
  }

private:
  /// Copies a snapshot of a server's content and checks it.
  void copyServer() {
    Store server(path, {.create = false});
    database.emplace(Store::temporary(server.path()));
    Importer importer(*database, Imported::everything);
    Transaction reading(server.connection(), Transaction::Kind::read), writing(database->connection());
    eachRecord(server, Filter(), [&](const Record &record) { importer.add(record); });
    writing.commit();
  }

  std::string path;
  std::optional<Store> database; // a copy, which cannot change between the two readings
  bool isLog = false;            // a log of AutoTVM
};

} // namespace

bool isStoreFile(const std::string &path) {
  constexpr std::string_view expected = "SQLite format 3";
  std::ifstream file(path, std::ios::binary);
  std::string magic(expected.size(), '\0');
  file.read(magic.data(), std::streamsize(magic.size()));
  return magic == expected;
}

RecordSource sourceOf(const std::string &path) {
  auto file = std::make_shared<File>(path);
  return [file](auto &visit, auto &notes) { file->read(visit, notes); };
}

ImportCounts importSources(Store &store, const std::vector<RecordSource> &sources, Imported what) {
  for (const RecordSource &read : sources) {
    std::vector<std::string> notes;
    read([](const Record &) {}, notes);
  }
  ImportCounts counts;
  store.connection().repeated([&](bool) {
    Importer importer(store, what);
    Transaction transaction(store.connection(), Transaction::Kind::append);
    // If an archive has changed since it was checked, its checksum fails here, and everything is rolled back.
    for (const RecordSource &read : sources)
      read([&](const Record &record) { importer.add(record); }, importer.counts.notes);
    counts = importer.counts;
    transaction.commit();
  });
  return counts;
}

ImportCounts importInto(Store &store, const std::vector<std::string> &paths, Imported what) {
  std::vector<RecordSource> sources;
  for (const std::string &path : paths)
    sources.push_back(sourceOf(path));
  return importSources(store, sources, what);
}

} // namespace lathe::store
