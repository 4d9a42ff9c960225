// The table `tuning`: converts rows to records, and merges records into rows (store/Outcomes.h).
#pragma once

#include "store/Database.h"
#include "store/Row.h"

namespace lathe::store {

/// The SELECT for the columns that recordOf reads. A condition may name the tables tuning, task, platform and
/// experiment.
std::string selectTuning();
/// Indices of two columns of selectTuning: outcomes as JSON; id of the task.
inline constexpr int outcomesColumn = 17, taskColumn = 18;

/// Makes the record from a row of selectTuning. Throws Error for an impossible value.
TuningRecord recordOf(Row row);

/// Returns the record as the store will return it: its texts in the form of JSON, its schedule canonical
/// (schedule/Schedule.h). Throws Error for an invalid record.
TuningRecord asStored(const TuningRecord &record);

enum class MergedTuning { added, changed, known };
/// Adds the outcomes of a record made by asStored, in the caller's transaction. Its task, platform and experiments must
/// exist. Throws WriteConflict if another writer of a server was faster.
MergedTuning mergeTuning(Database &database, TuningRecord record);

/// Makes the texts of all schedules canonical; rows whose texts become equal merge. Rows with invalid values stay
/// unchanged. Runs in the caller's transaction.
void mergeEqualSchedules(Database &database);

} // namespace lathe::store
