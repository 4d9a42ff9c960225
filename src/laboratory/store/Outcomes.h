// Merges tuning records of one schedule (docs/records.md, "How records merge").
//
// A record is a set of outcomes, so merging is the union of sets: commutative, associative and idempotent. All other
// fields are computed from the set:
//
// - status: of the last outcome that tells whether the schedule is right (passed, failed, crashed); without one, of the
//   last outcome. So a time-out on a busy machine does not hide a time.
// - verdict: of the last comparison in turns with the default schedule; `open` while the status has no time.
// - seconds: the median of the times that searches have measured. `ops bench` measures with other caches: its times
//   count only if there are no others.
// - samples: of all outcomes.
// - searcher, experiment and all other fields: of the leading outcome, which is the last comparison; without one the
//   last trial of a search; without one the last outcome.
#pragma once

#include "store/Records.h"

namespace lathe::store {

/// Merges two tuning records of the same schedule for the same task on the same platform: adds the outcomes of
/// `other` to `record`.
void merge(TuningRecord &record, const TuningRecord &other);

/// The outcomes of a tuning record in order of time: at least one.
std::vector<TuningOutcome> outcomesOf(const TuningRecord &record);

/// The leading outcome of a tuning record (see the head of this file), with its time and samples.
TuningOutcome leadingOutcome(const TuningRecord &record);

/// Sets `outcomes` of a tuning record, and the fields that summarise them. Outcomes that differ only in their
/// experiment become one. `outcomes` must not be empty.
void setOutcomes(TuningRecord &record, std::vector<TuningOutcome> outcomes);

/// Convert the list of a tuning record's outcomes to JSON, as archives and the column `outcomes` have it, and
/// back. Reading throws Error like tuningRecordFromJson.
nlohmann::json outcomesToJson(const std::vector<TuningOutcome> &outcomes);
std::vector<TuningOutcome> outcomesFromJson(const nlohmann::json &list);

} // namespace lathe::store
