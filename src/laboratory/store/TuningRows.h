// Rows of the database table `tuning`: converts rows to tuning records, and merges tuning records into rows
// (store/Outcomes.h).
#pragma once

#include "store/Database.h"
#include "store/Row.h"

namespace lathe::store {

/// The SQL SELECT of tuning records, with the columns that recordOf reads. A condition appended to it may name the
/// tables tuning, task, platform and experiment.
std::string selectTuning();
/// Indices of two columns of the rows of selectTuning: outcomes as JSON; id of the task.
inline constexpr int outcomesColumn = 17, taskColumn = 18;

/// Makes a tuning record from a row of selectTuning. Throws Error for an impossible value.
TuningRecord recordOf(Row row);

/// Returns a tuning record as the store will return it: its texts in the form of JSON, its schedule canonical
/// (schedule/Schedule.h). Throws Error for an invalid record.
TuningRecord asStored(const TuningRecord &record);

enum class MergedTuning { added, changed, known };
/// Merges a tuning record made by asStored into the store, in the caller's transaction: adds its outcomes. Its task,
/// platform and experiments must exist. Throws WriteConflict if another writer of a server was faster.
MergedTuning mergeTuning(Database &database, TuningRecord record);

/// Makes the texts of all stored schedules canonical; rows whose texts become equal merge. Rows with invalid values
/// stay unchanged. Runs in the caller's transaction.
void mergeEqualSchedules(Database &database);

} // namespace lathe::store
