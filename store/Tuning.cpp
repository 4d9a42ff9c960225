// Tuning records in the store: written, read, chosen from, removed.
#include "store/Row.h"

#include <map>
#include <tuple>

namespace lathe::store {

using nlohmann::json;

namespace {

constexpr const char *selectTuning =
    "SELECT platform.key, task.text, tuning.schedule, tuning.status, tuning.reason, tuning.seconds, tuning.samples,\n"
    "  tuning.verdict, tuning.searcher, tuning.build_seconds, tuning.run_seconds, tuning.version, tuning.build,\n"
    "  experiment.uuid, tuning.measured, tuning.other_processors, tuning.stolen_processors, task.id\n"
    "FROM tuning JOIN task ON tuning.task = task.id JOIN platform ON tuning.platform = platform.id\n"
    "  LEFT JOIN experiment ON tuning.experiment = experiment.id";

TuningRecord tuningOf(Row row) {
  TuningRecord r;
  r.platform = row.text();
  r.task = row.text();
  r.schedule = row.text();
  r.status = pointStatus(row.text());
  r.reason = row.text();
  r.seconds = row.real();
  r.samples = nanosecondsFromJson(row.document());
  r.verdict = tuningVerdict(row.text());
  r.searcher = row.text();
  r.buildSeconds = row.real();
  r.runSeconds = row.real();
  r.version = row.text();
  r.build = row.text();
  r.experiment = row.text();
  r.measured = row.text();
  r.disturbance = row.disturbance();
  check(r);
  return r;
}

Where conditionsOf(const TuningFilter &filter) {
  Where where;
  where.equal("task.text", filter.task);
  auto add = [&](const std::string &condition, const std::string &text, int times) {
    if (text.empty())
      return;
    where.add(condition);
    where.values.insert(where.values.end(), size_t(times), text);
  };
  add("instr(task.text, ?) > 0", filter.part, 1);
  where.equal("task.family", filter.family);
  add("substr(platform.key, 1, length(?)) = ?", filter.platform, 2);
  add("(instr(lower(platform.cpu), lower(?)) > 0 OR instr(lower(task.text), lower(?)) > 0)", filter.cpu, 2);
  if (!filter.statuses.empty()) {
    std::string places;
    for (PointStatus status : filter.statuses) {
      places += places.empty() ? "?" : ", ?";
      where.values.emplace_back(name(status));
    }
    where.add("tuning.status IN (" + places + ")");
  }
  if (filter.withKernel)
    where.add("task.kernel IS NOT NULL");
  return where;
}

/// The fastest record of each verdict, among the records of a task on some platforms.
struct Fastest {
  struct Record {
    double seconds;
    std::string schedule, measured;
    int64_t platform;
    bool operator<(const Record &other) const {
      return std::tie(seconds, schedule, platform) < std::tie(other.seconds, other.schedule, other.platform);
    }
  };
  std::map<TuningVerdict, Record> records;

  void add(TuningVerdict verdict, const Record &record) {
    auto [known, isNew] = records.try_emplace(verdict, record);
    if (!isNew && record < known->second)
      known->second = record;
  }
  /// The record that decides, with its verdict. There is at least one.
  const std::pair<const TuningVerdict, Record> &deciding() const {
    for (TuningVerdict verdict : {TuningVerdict::faster, TuningVerdict::noGain})
      if (auto found = records.find(verdict); found != records.end())
        return *found;
    return *records.begin();
  }
};

} // namespace

void Store::insertTask(const TuningTask &t) {
  check(t);
  // Nothing says which of two texts is better: the one that sorts first, so that files merge in any
  // order. Two writers that add one task at once meet at its key, and the later one tries again.
  std::string text = validUtf8(t.text), family = validUtf8(t.family);
  std::optional<std::string> kernel;
  if (!t.kernel.empty())
    kernel = validUtf8(t.kernel);
  Statement find(database, "SELECT family, kernel FROM task WHERE text = ?");
  find.bind(text);
  if (!find.step())
    return Statement(database, "INSERT INTO task(text, family, kernel) VALUES (?, ?, ?)")
        .bind(text, family, kernel)
        .run();
  std::string knownFamily = find.text(0), knownKernel = find.text(1);
  bool betterFamily = !family.empty() && (knownFamily.empty() || family < knownFamily);
  bool betterKernel = kernel && (find.isNull(1) || *kernel < knownKernel);
  find.reset();
  if (betterFamily)
    Statement(database, "UPDATE task SET family = ? WHERE text = ? AND (family = '' OR family > ?)")
        .bind(family, text, family)
        .run();
  if (betterKernel)
    Statement(database, "UPDATE task SET kernel = ? WHERE text = ? AND (kernel IS NULL OR kernel > ?)")
        .bind(kernel, text, kernel)
        .run();
}

Store::Outcome Store::insertTuning(const TuningRecord &r) {
  check(r);
  std::string schedule = validUtf8(r.schedule);
  int64_t platform = idOf("platform", "key", r.platform), task = idOf("task", "text", validUtf8(r.task));
  std::optional<int64_t> experiment;
  if (!r.experiment.empty())
    experiment = idOf("experiment", "uuid", r.experiment);
  Statement find(database, "SELECT measured FROM tuning WHERE task = ? AND platform = ? AND schedule = ?");
  find.bind(task, platform, schedule);
  bool known = find.step();
  if (known && find.text(0) >= r.measured)
    return Outcome::known;
  find.reset();
  // An update leaves what another writer has measured later meanwhile.
  Statement put(database, known ? "UPDATE tuning SET status = ?, reason = ?, seconds = ?, samples = ?, verdict = ?,\n"
                                  "  searcher = ?, build_seconds = ?, run_seconds = ?, version = ?, build = ?,\n"
                                  "  experiment = ?, measured = ?, other_processors = ?, stolen_processors = ?\n"
                                  "WHERE task = ? AND platform = ? AND schedule = ? AND measured < ?"
                                : "INSERT INTO tuning(status, reason, seconds, samples, verdict, searcher,\n"
                                  "  build_seconds, run_seconds, version, build, experiment, measured,\n"
                                  "  other_processors, stolen_processors, task, platform, schedule)\n"
                                  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  put.bind(name(r.status), validUtf8(r.reason), r.seconds, json(r.samples).dump(), name(r.verdict),
           validUtf8(r.searcher), r.buildSeconds, r.runSeconds, validUtf8(r.version), validUtf8(r.build), experiment,
           r.measured, r.disturbance.otherProcessors, r.disturbance.stolenProcessors, task, platform, schedule);
  if (known)
    put.bindOne(18, r.measured);
  put.run();
  return known ? Outcome::replaced : Outcome::added;
}

void Store::addTuning(std::vector<TuningRecord> records, const TuningTask &task, const Platform &platform) {
  addTuning({TunedTask{task, std::move(records)}}, platform);
}

void Store::addTuning(std::vector<TunedTask> tasks, const Platform &platform) {
  for (TunedTask &one : tasks)
    for (TuningRecord &record : one.records) {
      record.task = one.task.text;
      record.platform = platform.key();
      if (record.measured.empty())
        record.measured = timeNow();
    }
  write(Transaction::Kind::append, [&](Store &into, bool) {
    into.insertPlatform(platform);
    for (const TunedTask &one : tasks) {
      into.insertTask(one.task);
      for (const TuningRecord &record : one.records)
        into.insertTuning(record);
    }
  });
}

size_t Store::removeTuning(const std::vector<TuningRecord> &records) {
  size_t most = 0;
  database.repeated([&](bool) {
    Transaction transaction(database);
    size_t removed = 0;
    Statement remove(database, "DELETE FROM tuning WHERE task = (SELECT id FROM task WHERE text = ?)\n"
                               "  AND platform = (SELECT id FROM platform WHERE key = ?) AND schedule = ?\n"
                               "  AND measured = ?");
    for (const TuningRecord &record : records) {
      remove.bind(record.task, record.platform, record.schedule, record.measured).run();
      removed += size_t(database.changes());
    }
    database.execute("DELETE FROM task WHERE id NOT IN (SELECT task FROM tuning)");
    transaction.commit();
    most = std::max(most, removed); // if the answer to the first commit was lost, the second removes nothing
  });
  return most;
}

std::vector<TunedTask> Store::tunedTasks(const TuningFilter &filter) {
  Where where = conditionsOf(filter);
  Statement select(database, selectTuning + where.sql +
                                 "\nORDER BY task.text, tuning.seconds IS NULL, tuning.seconds, tuning.schedule,\n"
                                 "  platform.key");
  where.bindTo(select);
  Statement task(database, "SELECT family, kernel FROM task WHERE id = ?");
  std::vector<TunedTask> tasks;
  while (select.step()) {
    TuningRecord record = inRow(path(), "tuning record", select.text(1), [&] { return tuningOf(Row(select)); });
    if (tasks.empty() || tasks.back().task.text != record.task) {
      task.bind(select.integer(17));
      require(task.step(), "{}: a tuning record refers to no task", path());
      Row row(task);
      TunedTask &added = tasks.emplace_back();
      added.task.text = record.task;
      added.task.family = row.text();
      added.task.kernel = row.text();
    }
    tasks.back().records.push_back(std::move(record));
  }
  return tasks;
}

std::vector<TuningRecord> Store::tuning(const TuningFilter &filter) {
  std::vector<TuningRecord> records;
  for (TunedTask &task : tunedTasks(filter))
    std::move(task.records.begin(), task.records.end(), std::back_inserter(records));
  return records;
}

std::optional<TuningRecord> Store::bestTuning(const std::string &task, const std::string &platform) {
  auto records = tuning({.task = task, .platform = platform, .statuses = {PointStatus::passed}});
  return records.empty() || !records.front().seconds ? std::nullopt : std::optional(records.front());
}

std::vector<ChosenSchedule> Store::chosenSchedules(const std::string &platform) {
  std::map<int64_t, Fastest> here, elsewhere; // by task
  {
    Statement own(database, "SELECT id FROM platform WHERE key = ?");
    own.bind(platform);
    int64_t self = own.step() ? own.integer(0) : -1;
    // The index tuning_choice has everything in this order.
    Statement select(database, "SELECT task, platform, verdict, seconds, schedule, measured FROM tuning\n"
                               "WHERE seconds IS NOT NULL AND searcher <> ''\n"
                               "ORDER BY task, platform, verdict, seconds, schedule");
    std::tuple<int64_t, int64_t, std::string> group{-1, -1, ""};
    while (select.step()) {
      std::tuple<int64_t, int64_t, std::string> its{select.integer(0), select.integer(1), select.text(2)};
      if (its == group) // the first of a group is the fastest
        continue;
      group = its;
      auto &[task, where, verdict] = group;
      Fastest::Record record{select.real(3), select.text(4), select.text(5), where};
      inRow(path(), "tuning record", record.schedule,
            [&] { (where == self ? here : elsewhere)[task].add(tuningVerdict(verdict), record); });
    }
  }
  here.merge(elsewhere); // tasks that this platform has keep its records
  std::vector<ChosenSchedule> chosen;
  Statement names(database, "SELECT task.text, platform.key FROM task, platform WHERE task.id = ? AND platform.id = ?");
  for (auto &[task, fastest] : here) {
    auto &[verdict, record] = fastest.deciding();
    names.bind(task, record.platform);
    if (names.step())
      chosen.push_back({names.text(0), verdict, verdict == TuningVerdict::noGain ? "" : record.schedule, names.text(1),
                        record.measured});
  }
  std::sort(chosen.begin(), chosen.end(), [](auto &a, auto &b) { return a.task < b.task; });
  return chosen;
}

} // namespace lathe::store
