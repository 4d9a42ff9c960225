// Runs the trials of `lathe tune` in separate processes.
#pragma once

#include "tune/Tuner.h"
#include "tune/measure/Measure.h"

namespace lathe::jobs {

/// Measures schedules in separate processes, with tune::Measurer.
class ProcessTrials : public tune::TrialRunner {
public:
  explicit ProcessTrials(tune::MeasureOptions options) : measurer(std::move(options)) {}

  Outcome<bool> prepare(const tune::Task &task) override { return measurer.prepare(task); }
  std::vector<tune::Measurement> measure(const tune::Task &task, const std::vector<std::string> &schedules,
                                         double best) override {
    return measurer.measure(task, schedules, best);
  }
  std::vector<tune::TurnMeasurement> inTurns(const tune::Task &task, const std::vector<std::string> &schedules,
                                             double seconds) override {
    return measurer.inTurns(task, schedules, seconds);
  }
  const tune::MeasureCounts &counts() const { return measurer.counts(); }

private:
  tune::Measurer measurer;
};

} // namespace lathe::jobs
