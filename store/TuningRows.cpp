#include "store/TuningRows.h"

#include "schedule/Algorithms.h"
#include "store/Outcomes.h"

namespace lathe::store {

using nlohmann::json;

const char *const selectTuning =
    "SELECT platform.key, task.text, tuning.schedule, tuning.status, tuning.reason, tuning.seconds, tuning.samples,\n"
    "  tuning.verdict, tuning.searcher, tuning.build_seconds, tuning.run_seconds, tuning.version, tuning.build,\n"
    "  experiment.uuid, tuning.measured, tuning.other_processors, tuning.stolen_processors, tuning.outcomes, task.id\n"
    "FROM tuning JOIN task ON tuning.task = task.id JOIN platform ON tuning.platform = platform.id\n"
    "  LEFT JOIN experiment ON tuning.experiment = experiment.id";

TuningRecord recordOf(Row row) {
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
  if (std::vector<TuningOutcome> outcomes = outcomesFromJson(row.document()); !outcomes.empty())
    setOutcomes(r, std::move(outcomes));
  check(r);
  return r;
}

TuningRecord asStored(const TuningRecord &record) {
  check(record);
  TuningRecord stored =
      tuningRecordFromJson(json::parse(toJson(record).dump(-1, ' ', false, json::error_handler_t::replace)));
  stored.schedule = canonicalSchedule(stored.schedule);
  return stored;
}

/// The id of the row that has a key; nothing without a key.
static std::optional<int64_t> idOf(Database &database, const char *table, const char *column, const std::string &key) {
  if (key.empty())
    return std::nullopt;
  Statement find(database, fmt::format("SELECT id FROM {} WHERE {} = ?", table, column));
  find.bind(key);
  require(find.step(), "{}: no {} has {} {}", database.path(), table, column, key);
  return find.integer(0);
}

MergedTuning mergeTuning(Database &database, TuningRecord r) {
  std::optional<int64_t> platform = idOf(database, "platform", "key", r.platform),
                         task = idOf(database, "task", "text", r.task);
  Statement find(database,
                 std::string(selectTuning) + " WHERE tuning.task = ? AND tuning.platform = ? AND tuning.schedule = ?");
  find.bind(task, platform, r.schedule);
  std::optional<std::string> known; // outcomes of the row
  if (find.step()) {
    TuningRecord before = inRow(database.path(), "tuning record", r.task, [&] { return recordOf(Row(find)); });
    merge(r, before);
    if (toJson(r) == toJson(before))
      return MergedTuning::known;
    known = find.text(outcomesColumn);
  }
  find.reset();
  Statement put(database, known ? "UPDATE tuning SET status = ?, reason = ?, seconds = ?, samples = ?, verdict = ?,\n"
                                  "  searcher = ?, build_seconds = ?, run_seconds = ?, version = ?, build = ?,\n"
                                  "  experiment = ?, measured = ?, other_processors = ?, stolen_processors = ?,\n"
                                  "  outcomes = ? WHERE task = ? AND platform = ? AND schedule = ? AND outcomes = ?"
                                : "INSERT INTO tuning(status, reason, seconds, samples, verdict, searcher,\n"
                                  "  build_seconds, run_seconds, version, build, experiment, measured,\n"
                                  "  other_processors, stolen_processors, outcomes, task, platform, schedule)\n"
                                  "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  put.bind(name(r.status), r.reason, r.seconds, json(r.outcomes.empty() ? r.samples : std::vector<int64_t>()).dump(),
           name(r.verdict), r.searcher, r.buildSeconds, r.runSeconds, r.version, r.build,
           idOf(database, "experiment", "uuid", r.experiment), r.measured, r.disturbance.otherProcessors,
           r.disturbance.stolenProcessors, outcomesToJson(r.outcomes).dump(), task, platform, r.schedule);
  constexpr int afterAll = 19;
  if (known)
    put.bindOne(afterAll, *known);
  put.run();
  // Another writer of a server has added an outcome meanwhile: tried again, both are there.
  if (known && !database.changes())
    throw WriteConflict(fmt::format("{}: another process writes to a tuning record", database.path()));
  return known ? MergedTuning::changed : MergedTuning::added;
}

void mergeEqualSchedules(Database &database) {
  std::vector<int64_t> others; // rows with texts that are not canonical
  {
    Statement select(database, "SELECT id, schedule FROM tuning ORDER BY id");
    while (select.step())
      if (std::string text = select.text(1); canonicalSchedule(text) != text)
        others.push_back(select.integer(0));
  }
  Statement select(database, std::string(selectTuning) + " WHERE tuning.id = ?");
  Statement remove(database, "DELETE FROM tuning WHERE id = ?");
  for (int64_t id : others)
    try {
      select.bind(id);
      if (!select.step())
        continue;
      TuningRecord record = asStored(recordOf(Row(select)));
      select.reset();
      mergeTuning(database, std::move(record));
      remove.bind(id).run();
    } catch (const ServerFailure &) {
      throw;
    } catch (const Error &) { // a row that no program of ours writes: reading tells
    } catch (const json::exception &) {
    }
}

} // namespace lathe::store
