#include "jobs/tune/TrialRecords.h"

#include "jobs/ShippedRecords.h"
#include "schedule/Algorithms.h"
#include "store/Outcomes.h"

#include <cmath>

namespace lathe::jobs {

store::TuningTask TrialRecords::taskOf(const tune::Task &task) const {
  return {store::taskInCompany(task.key, company), task.family, task.kernel};
}

tune::Measurement measurementOf(const store::TuningRecord &record) {
  tune::Measurement measurement;
  measurement.schedule = record.schedule;
  measurement.status = record.status;
  measurement.reason = record.reason;
  measurement.inCompany = store::isInCompany(record.task);
  if (record.seconds)
    for (int64_t sample : leadingOutcome(record).samples)
      measurement.seconds.push_back(double(sample) * 1e-9);
  return measurement;
}

tune::Measurement measured(tune::TrialRunner &runner, const tune::Task &task, const std::string &schedule) {
  Outcome<bool> prepared = runner.prepare(task);
  if (prepared)
    return runner.measure(task, {schedule}, tune::unmeasured).at(0);
  tune::Measurement measurement;
  measurement.schedule = schedule;
  measurement.status = store::PointStatus::unimplemented;
  measurement.reason = prepared.reason();
  return measurement;
}

static void measureFirst(tune::TaskToTune &task, const std::string &schedule) {
  task.rules.push_back(readSchedule(schedule)); // its values belong to the search space
  task.kept.push_back(schedule);
}

void TrialRecords::add(const tune::Task &task, const std::vector<tune::Measurement> &measurements) {
  std::vector<store::TuningRecord> records;
  for (const tune::Measurement &one : measurements)
    records.push_back(recordOf(one));
  recording.add(taskOf(task), std::move(records));
}

store::TunedTask TrialRecords::of(const tune::Task &task, const tune::TunedTask &tuned, bool undone) const {
  std::vector<store::TuningRecord> records;
  for (const tune::TurnMeasurement &one : tuned.finalists) {
    store::TuningRecord record = recordOf(one);
    bool kept = tuned.gained && !undone && one.schedule == tuned.schedule;
    if (one.passed())
      record.verdict = kept ? store::TuningVerdict::faster : store::TuningVerdict::noGain;
    records.push_back(std::move(record));
  }
  return {taskOf(task), std::move(records)};
}

store::TunedTask TrialRecords::of(const tune::Task &task, const tune::Measurement &measurement,
                                  store::TuningVerdict verdict) const {
  store::TuningRecord record = recordOf(measurement);
  if (measurement.passed())
    record.verdict = verdict;
  return {taskOf(task), {std::move(record)}};
}

void TrialRecords::recall(tune::TaskToTune &task) const {
  if (!recording.store())
    return;
  store::TuningFilter filter;
  filter.task = store::taskInCompany(task.task.key, company);
  filter.platform = recording.platformKey();
  for (const store::TuningRecord &record : recording.store()->tuning(filter)) {
    // Skips records of `ops bench`, which measures with other caches, and records of other versions of an algorithm.
    bool isMistrusted = record.status == store::PointStatus::mistrusted; // says nothing about the schedule
    if (record.searcher.empty() || isMistrusted || !isDeclared(record.schedule))
      continue;
    if (record.verdict == store::TuningVerdict::faster)
      task.kept.push_back(record.schedule);
    task.known.push_back(measurementOf(record));
  }
  if (company.empty())
    return;
  filter.task = task.task.key;
  for (const store::TuningRecord &record : recording.store()->tuning(filter)) // the fastest first
    if (record.verdict == store::TuningVerdict::faster && isDeclared(record.schedule))
      return measureFirst(task, record.schedule);
}

store::TuningRecord TrialRecords::recordOf(const tune::Measurement &measurement) const {
  store::TuningRecord record;
  record.schedule = measurement.schedule;
  record.status = measurement.status;
  record.reason = measurement.reason;
  record.searcher = searcher;
  record.buildSeconds = measurement.build;
  record.runSeconds = measurement.run;
  if (measurement.passed()) {
    record.seconds = measurement.best();
    for (double seconds : measurement.seconds)
      record.samples.push_back(std::llround(seconds * 1e9));
  }
  return record;
}

void addShipped(std::vector<tune::TaskToTune> &tasks, const std::string &machine) {
  std::optional<ShippedRecords> shipped = ShippedRecords::ofMachine(machine);
  if (!shipped)
    return;
  for (tune::TaskToTune &task : tasks)
    if (auto record = shipped->find(task.task.key))
      measureFirst(task, record->schedule);
}

} // namespace lathe::jobs
