// Outcomes of trials as tuning records (docs/records.md).
#pragma once

#include "jobs/Recording.h"
#include "tune/Tuner.h"

namespace lathe::jobs {

/// The measurement in a record, with the times of its leading outcome only, because clocks differ between days.
tune::Measurement measurementOf(const store::TuningRecord &record);

class TrialRecords {
public:
  /// `searcher`: name of the searcher that proposes the schedules. `recording` must outlive the object.
  TrialRecords(Recording &recording, std::string searcher) : recording(recording), searcher(std::move(searcher)) {}

  void add(const tune::Task &task, const std::vector<tune::Measurement> &measurements);
  /// The records of a task's finalists, with the results of the turns. `undone`: what single tasks gain is no gain for
  /// the model.
  store::TunedTask of(const tune::Task &task, const tune::TunedTask &tuned, bool undone = false) const;
  /// The record of one measured schedule with this verdict.
  store::TunedTask of(const tune::Task &task, const tune::Measurement &measurement, store::TuningVerdict verdict) const;
  /// Adds the stored measurements of earlier searches on this machine to the task.
  void recall(tune::TaskToTune &task) const;

private:
  Recording &recording;
  std::string searcher;

  store::TuningRecord recordOf(const tune::Measurement &measurement) const;
};

/// Adds the schedule of the shipped record to each task that has one. `machine`: Target::key.
void addShipped(std::vector<tune::TaskToTune> &tasks, const std::string &machine);

} // namespace lathe::jobs
