// Stores the outcomes of trials as tuning records (docs/records.md).
#pragma once

#include "jobs/Recording.h"
#include "tune/Tuner.h"

namespace lathe::jobs {

/// Turns a tuning record into a measurement, with the times of its leading outcome only, because clocks differ between
/// days.
tune::Measurement measurementOf(const store::TuningRecord &record);

/// Measures one schedule of a task. Of a task that cannot be measured the status is unimplemented, with the reason.
tune::Measurement measured(tune::TrialRunner &runner, const tune::Task &task, const std::string &schedule);

class TrialRecords {
public:
  /// `searcher`: name of the searcher that proposes the schedules. `company`: what runs beside the trials, as
  /// store::Company::str; "": nothing. `recording` must outlive the object.
  TrialRecords(Recording &recording, std::string searcher, std::string company)
      : recording(recording), searcher(std::move(searcher)), company(std::move(company)) {}

  void add(const tune::Task &task, const std::vector<tune::Measurement> &measurements);
  /// Makes the records of a task's finalists, with the results of measuring them in turns. `undone`: true if schedules
  /// that gain alone gain nothing in the whole model.
  store::TunedTask of(const tune::Task &task, const tune::TunedTask &tuned, bool undone = false) const;
  /// Makes the record of one measured schedule with this verdict.
  store::TunedTask of(const tune::Task &task, const tune::Measurement &measurement, store::TuningVerdict verdict) const;
  /// Adds the measurements of earlier searches on this machine in this company, from the store, to the task. In company
  /// also the fastest schedule that a search of the kernel alone has kept, to be measured anew.
  void recall(tune::TaskToTune &task) const;

private:
  Recording &recording;
  std::string searcher, company;

  store::TuningTask taskOf(const tune::Task &task) const;
  store::TuningRecord recordOf(const tune::Measurement &measurement) const;
};

/// Adds to each task the schedule of its shipped record, if it has one. `machine`: Target::key.
void addShipped(std::vector<tune::TaskToTune> &tasks, const std::string &machine);

} // namespace lathe::jobs
