// Outcomes of trials as tuning records (docs/records.md).
#pragma once

#include "jobs/Recording.h"
#include "tune/Tuner.h"

namespace lathe::jobs {

/// What a record says about its schedule, with the times of its leading outcome: clocks differ from day to day.
tune::Measurement measurementOf(const store::TuningRecord &record);

class TrialRecords {
public:
  /// `searcher`: that proposes the schedules. `recording` outlives the object.
  TrialRecords(Recording &recording, std::string searcher) : recording(recording), searcher(std::move(searcher)) {}

  void add(const tune::Task &task, const std::vector<tune::Measurement> &measurements);
  /// The finalists of a task with what the turns have found. `undone`: what is faster by itself is no gain for the model.
  store::TunedTask of(const tune::Task &task, const tune::TunedTask &tuned, bool undone = false) const;
  /// One schedule with a verdict.
  store::TunedTask of(const tune::Task &task, const tune::Measurement &measurement, store::TuningVerdict verdict) const;
  /// Adds to the task what earlier searches on this machine have measured and kept.
  void recall(tune::TaskToTune &task) const;

private:
  Recording &recording;
  std::string searcher;

  store::TuningRecord recordOf(const tune::Measurement &measurement) const;
};

/// Adds to each task the schedule of the record that came with lathe for it. `machine`: Target::key.
void addShipped(std::vector<tune::TaskToTune> &tasks, const std::string &machine);

} // namespace lathe::jobs
