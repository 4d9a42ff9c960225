#include "store/Archive.h"

#include "store/ContentKey.h"
#include "store/Lines.h"
#include "store/Outcomes.h"
#include "support/Text.h"

#include <set>

namespace lathe::store {

using nlohmann::json;

namespace {

/// Counts and hashes lines of records as they are written or read.
struct Tally {
  Store::Counts counts;
  int64_t labels = 0;
  bool company = false; // a point has company
  ContentHasher hasher;

  void add(const std::string &line, const Record &record) {
    hasher.update(line);
    hasher.update("\n");
    counts.platforms += std::holds_alternative<Platform>(record);
    counts.experiments += std::holds_alternative<Experiment>(record);
    counts.tuning += std::holds_alternative<TuningRecord>(record);
    labels += std::holds_alternative<Label>(record);
    if (auto *point = std::get_if<Point>(&record)) {
      ++counts.points;
      counts.samples += int64_t(point->sampleCount());
      company |= !point->setting.company.empty();
    }
  }
  json manifest() const {
    json manifest = {{"format", company  ? archiveFormat
                                : labels ? formatOfLabels
                                         : formatOfTasks},
                     {"platforms", counts.platforms},
                     {"experiments", counts.experiments},
                     {"points", counts.points},
                     {"samples", counts.samples},
                     {"tuning", counts.tuning},
                     {"xxh3_128", hasher.digest()}};
    if (labels)
      manifest["labels"] = labels;
    return manifest;
  }
};

std::string lineOf(const Record &record) {
  static constexpr const char *names[] = {"platform", "experiment", "point", "tuning", "task", "label"}; // as Record
  json document = std::visit([](auto &value) { return toJson(value); }, record);
  return json{{names[record.index()], document}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

Record recordOf(const std::string &line) {
  json document = parseDocument(line);
  require(document.is_object() && document.size() == 1, "'{:.40}' is not a record of an archive", line);
  auto entry = document.begin();
  if (entry.key() == "platform")
    return platformFromJson(*entry);
  if (entry.key() == "experiment")
    return experimentFromJson(*entry);
  if (entry.key() == "point")
    return pointFromJson(*entry);
  if (entry.key() == "task")
    return tuningTaskFromJson(*entry);
  if (entry.key() == "label")
    return labelFromJson(*entry);
  require(entry.key() == "tuning", "'{:.40}' is not a record of an archive", line);
  return tuningRecordFromJson(*entry);
}

/// Visits the experiments `uuids` and the records of `tasks`, after the records that these refer to.
void visitAll(Store &store, std::set<std::string> uuids, const std::vector<TunedTask> &tasks,
              const std::function<void(const Record &)> &visit) {
  std::set<std::string> platforms;
  for (auto &task : tasks)
    for (auto &record : task.records) {
      platforms.insert(record.platform);
      for (const TuningOutcome &outcome : outcomesOf(record))
        uuids.insert(outcome.experiment);
    }
  auto experiments = store.experiments({}, true);
  std::erase_if(experiments, [&](auto &summary) { return !uuids.contains(summary.experiment.uuid); });
  for (auto &summary : experiments)
    platforms.insert(summary.experiment.platform);
  for (auto &key : platforms) {
    Platform platform = store.platform(key);
    require(platform.key() == key, "{}: platform {}: its content has another key", store.path(), printable(key));
    visit(platform);
  }
  for (auto &summary : experiments)
    visit(summary.experiment);
  for (auto &task : tasks) {
    if (!task.task.family.empty() || !task.task.kernel.empty()) // otherwise the records contain everything
      visit(task.task);
    for (auto &record : task.records)
      visit(record);
  }
}

Store::Counts writeArchive(Store &store, const std::string &path,
                           const std::function<void(const std::function<void(const Record &)> &)> &each) {
  // The manifest comes first, so everything is read twice, in one transaction because other processes may write.
  Transaction transaction(store.connection(), Transaction::Kind::read);
  Tally tally;
  each([&](const Record &record) { tally.add(lineOf(record), record); });
  LineWriter writer(path);
  writer.line(json{{archiveKey, tally.manifest()}}.dump());
  each([&](const Record &record) { writer.line(lineOf(record)); });
  writer.commit();
  return tally.counts;
}

} // namespace

void eachRecord(Store &store, const Filter &filter, const std::function<void(const Record &)> &visit) {
  bool everything = filter.experiments.empty() && filter.identity.empty() && filter.platform.empty();
  std::vector<TunedTask> tasks;
  if (everything && filter.kind.value_or(ExperimentKind::tune) == ExperimentKind::tune)
    tasks = store.tunedTasks();
  std::set<std::string> uuids;
  for (auto &summary : store.experiments(filter))
    uuids.insert(summary.experiment.uuid);
  std::set<std::pair<LabelTarget, std::string>> visited;
  auto remembered = [&](const Record &record) {
    if (auto *platform = std::get_if<Platform>(&record))
      visited.emplace(LabelTarget::platform, platform->key());
    else if (auto *experiment = std::get_if<Experiment>(&record))
      visited.emplace(LabelTarget::experiment, experiment->uuid);
    else if (auto *point = std::get_if<Point>(&record))
      visited.emplace(LabelTarget::problem, point->problem.key());
    visit(record);
  };
  visitAll(store, std::move(uuids), tasks, remembered);
  store.points(filter, true, remembered);
  bool all = everything && !filter.kind;
  for (const Label &label : store.labels())
    if (all || visited.contains({label.target, label.key}))
      visit(label);
}

void eachTuning(Store &store, const TuningFilter &filter, const std::function<void(const Record &)> &visit) {
  visitAll(store, {}, store.tunedTasks(filter), visit);
}

Store::Counts exportArchive(Store &store, const Filter &filter, const std::string &path) {
  return writeArchive(store, path, [&](auto &visit) { eachRecord(store, filter, visit); });
}

Store::Counts exportTuning(Store &store, const TuningFilter &filter, const std::string &path) {
  return writeArchive(store, path, [&](auto &visit) { eachTuning(store, filter, visit); });
}

void readArchive(const std::string &path, const std::function<void(const Record &)> &visit) {
  LineReader reader(path);
  json manifest = archiveManifest(path, reader.next());
  Tally tally;
  std::set<std::string> platforms, experiments, points;
  auto known = [&](const std::set<std::string> &keys, const std::string &key, const char *what) {
    require(keys.count(key), "refers to {} {}, which does not exist", what, key);
  };
  while (auto line = reader.next())
    try {
      Record record = recordOf(*line);
      if (auto *platform = std::get_if<Platform>(&record)) {
        platforms.insert(platform->key());
      } else if (auto *experiment = std::get_if<Experiment>(&record)) {
        known(platforms, experiment->platform, "platform");
        require(experiments.insert(experiment->uuid).second, "experiment {} occurs twice", experiment->uuid);
      } else if (auto *point = std::get_if<Point>(&record)) {
        known(experiments, point->experiment, "experiment");
        require(points.insert(point->key()).second, "a point occurs twice");
      } else if (auto *tuning = std::get_if<TuningRecord>(&record)) {
        known(platforms, tuning->platform, "platform");
        for (const TuningOutcome &outcome : outcomesOf(*tuning))
          if (!outcome.experiment.empty())
            known(experiments, outcome.experiment, "experiment");
      }
      tally.add(*line, record);
      visit(record);
    } catch (const Error &error) {
      fail("{}:{}: {}", path, reader.number(), printable(error.what()));
    }
  json found = tally.manifest();
  for (auto &[key, value] : found.items())
    require(key == "format" || manifest.value(key, json()) == value,
            "{}: is cut or damaged: {} is {}, the first line says {}", path, key, value.dump(),
            manifest.value(key, json()).dump());
}

std::optional<TuningRecord> ArchiveIndex::find(const std::string &task) const {
  std::optional<std::string_view> line = records.line(task);
  if (!line)
    return std::nullopt;
  try {
    return std::get<TuningRecord>(recordOf(std::string(*line)));
  } catch (const Error &error) {
    fail("{}: {}", records.path, printable(error.what()));
  }
}

} // namespace lathe::store
