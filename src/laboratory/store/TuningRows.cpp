#include "store/TuningRows.h"

#include "schedule/Algorithms.h"
#include "store/FieldRows.h"
#include "store/Outcomes.h"

namespace lathe::store {

using nlohmann::json;

std::string selectTuning() {
  return "SELECT " + columnsOf<TuningRecord>("tuning") +
         ", task.id\n"
         "FROM tuning JOIN task ON tuning.task = task.id JOIN platform ON tuning.platform = platform.id\n"
         "  LEFT JOIN experiment ON tuning.experiment = experiment.id";
}

TuningRecord recordOf(Row row) {
  auto r = fieldsOf<TuningRecord>(row);
  if (!r.outcomes.empty())
    setOutcomes(r, std::move(r.outcomes));
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

MergedTuning mergeTuning(Database &database, TuningRecord r) {
  int64_t platform = idOf(database, "platform", "key", r.platform), task = idOf(database, "task", "text", r.task);
  Statement find(database, selectTuning() + " WHERE tuning.task = ? AND tuning.platform = ? AND tuning.schedule = ?");
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
  if (!r.outcomes.empty())
    r.samples.clear(); // the outcomes contain them
  if (known) {
    std::string columns = columnsOf<TuningRecord>(nullptr);
    Statement update(database, fmt::format("UPDATE tuning SET ({}) = ({})\n"
                                           "WHERE task = ? AND platform = ? AND schedule = ? AND outcomes = ?",
                                           columns, placesOf(columns)));
    Binder binder{database, update};
    visitFields(std::as_const(r), binder);
    for (int64_t id : {task, platform})
      update.bindOne(++binder.at, id);
    for (const std::string &text : {r.schedule, *known})
      update.bindOne(++binder.at, text);
    update.run();
  } else {
    insertRow(database, "tuning", "", r, "");
  }
  // Another writer of a server has added an outcome in the meantime: trying again keeps both.
  if (known && !database.changes())
    throw WriteConflict(fmt::format("{}: another process writes to a tuning record", database.path()));
  return known ? MergedTuning::changed : MergedTuning::added;
}

void mergeEqualSchedules(Database &database) {
  std::vector<int64_t> others; // rows whose texts are not canonical
  {
    Statement select(database, "SELECT id, schedule FROM tuning ORDER BY id");
    while (select.step())
      if (std::string text = select.text(1); canonicalSchedule(text) != text)
        others.push_back(select.integer(0));
  }
  Statement select(database, selectTuning() + " WHERE tuning.id = ?");
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
    } catch (const Error &) { // an invalid row: reading will report it
    } catch (const json::exception &) {
    }
}

} // namespace lathe::store
