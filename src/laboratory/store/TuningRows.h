// The table `tuning`: rows as records, and records that merge with rows (store/Outcomes.h).
#pragma once

#include "store/Database.h"
#include "store/Row.h"

namespace lathe::store {

/// The columns that recordOf reads, of tables that a condition may name: tuning, task, platform, experiment.
std::string selectTuning();
inline constexpr int outcomesColumn = 17, taskColumn = 18; // of selectTuning: JSON, id

/// The record of a row. Throws Error for an impossible value.
TuningRecord recordOf(Row row);

/// The record as it comes back from the store: its texts as JSON holds them, its schedule canonical
/// (schedule/Schedule.h). Throws Error for an invalid record.
TuningRecord asStored(const TuningRecord &record);

enum class MergedTuning { added, changed, known };
/// Adds the outcomes of a record that asStored has made, in the caller's transaction. Its task, platform and experiments
/// exist. Throws WriteConflict where another writer of a server was faster.
MergedTuning mergeTuning(Database &database, TuningRecord record);

/// Makes the texts of all schedules canonical; rows whose texts become equal merge. Rows with impossible values stay as they
/// are. In the caller's transaction.
void mergeEqualSchedules(Database &database);

} // namespace lathe::store
