// Tuning records in the store: writes, reads, chooses and removes them.
#include "store/FieldRows.h"
#include "store/Outcomes.h"
#include "store/TuningRows.h"

#include <map>
#include <tuple>

namespace lathe::store {

using nlohmann::json;

namespace {

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

/// The record that decides about a task, from some platforms: the fastest one that was faster than the default
/// schedule, otherwise the fastest one that was not.
struct Deciding {
  TuningVerdict verdict;
  double seconds;
  std::string schedule, measured;
  int64_t platform;

  bool operator<(const Deciding &other) const {
    bool isLater = verdict != TuningVerdict::faster, otherIsLater = other.verdict != TuningVerdict::faster;
    return std::tie(isLater, seconds, schedule, platform) <
           std::tie(otherIsLater, other.seconds, other.schedule, other.platform);
  }
};

} // namespace

void Store::insertTask(const TuningTask &t) {
  check(t);
  // No text is better than the other, so the one that sorts first is kept, and files merge in any order. Two writers
  // that add one task at once conflict on its key, and the later one tries again.
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

Store::Outcome Store::insertTuning(const TuningRecord &record) {
  TuningRecord stored = asStored(record);
  for (const TuningOutcome &outcome : outcomesOf(stored))
    if (!outcome.experiment.empty())
      idOf(database, "experiment", "uuid", outcome.experiment);
  switch (mergeTuning(database, std::move(stored))) {
  case MergedTuning::added:
    return Outcome::added;
  case MergedTuning::changed:
    return Outcome::replaced;
  default:
    return Outcome::known;
  }
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
                               "  AND measured = ? AND outcomes = ?");
    for (const TuningRecord &record : records) {
      remove
          .bind(record.task, record.platform, record.schedule, record.measured, outcomesToJson(record.outcomes).dump())
          .run();
      removed += size_t(database.changes());
    }
    database.execute("DELETE FROM task WHERE id NOT IN (SELECT task FROM tuning)");
    transaction.commit();
    most = std::max(most, removed); // if the answer to the first commit was lost, the second call removes nothing
  });
  return most;
}

std::vector<TunedTask> Store::tunedTasks(const TuningFilter &filter) {
  Where where = conditionsOf(filter);
  Statement select(database, selectTuning() + where.sql +
                                 "\nORDER BY task.text, tuning.seconds IS NULL, tuning.seconds, tuning.schedule,\n"
                                 "  platform.key");
  where.bindTo(select);
  Statement task(database, "SELECT family, kernel FROM task WHERE id = ?");
  std::vector<TunedTask> tasks;
  while (select.step()) {
    TuningRecord record = inRow(path(), "tuning record", select.text(1), [&] { return recordOf(Row(select)); });
    if (tasks.empty() || tasks.back().task.text != record.task) {
      task.bind(select.integer(taskColumn));
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
  std::map<int64_t, Deciding> here, elsewhere; // by task
  {
    Statement own(database, "SELECT id FROM platform WHERE key = ?");
    own.bind(platform);
    int64_t self = own.step() ? own.integer(0) : -1;
    // The index tuning_choice has these rows in order.
    Statement select(database, "SELECT task, platform, verdict, seconds, schedule, measured FROM tuning\n"
                               "WHERE seconds IS NOT NULL AND searcher <> '' AND verdict <> 'open'\n"
                               "ORDER BY task, platform, verdict, seconds, schedule");
    while (select.step())
      inRow(path(), "tuning record", select.text(4), [&] {
        int64_t where = select.integer(1);
        Deciding record{tuningVerdict(select.text(2)), select.real(3), select.text(4), select.text(5), where};
        auto [known, isNew] = (where == self ? here : elsewhere).try_emplace(select.integer(0), record);
        if (!isNew && record < known->second)
          known->second = record;
      });
  }
  here.merge(elsewhere); // tasks with records of this platform keep these
  std::vector<ChosenSchedule> chosen;
  Statement names(database, "SELECT task.text, platform.key FROM task, platform WHERE task.id = ? AND platform.id = ?");
  for (auto &[task, record] : here) {
    names.bind(task, record.platform);
    if (names.step())
      chosen.push_back({names.text(0), record.verdict, record.verdict == TuningVerdict::noGain ? "" : record.schedule,
                        names.text(1), record.measured});
  }
  std::sort(chosen.begin(), chosen.end(), [](auto &a, auto &b) { return a.task < b.task; });
  return chosen;
}

} // namespace lathe::store
