// The measurements of the study `search`, as JSON lines in a growing file, so that an interrupted study can continue.
#pragma once

#include "tune/measure/Measurement.h"

#include <fstream>
#include <map>

namespace lathe::study {

using tune::Measurement;

/// The finalists of a task, measured in turns; the prior's schedule is the first.
struct TurnsOfTask {
  std::vector<std::string> schedules;
  std::vector<double> seconds; // smallest sample of each schedule
  std::vector<double> speed;   // ratio of times for each schedule: first schedule / this schedule
};

class SearchLog {
public:
  /// Reads the file of measurements, which need not exist. The last line may be torn: its measurement is then made
  /// again. Throws Error for other lines that cannot be read.
  explicit SearchLog(const std::string &path);

  /// Tasks are named by their text (codegen/Task.h).
  const Measurement *find(const std::string &task, const std::string &schedule) const;
  const std::map<std::string, Measurement> &of(const std::string &task) const;
  void add(const std::string &task, const Measurement &measurement);

  const TurnsOfTask *turns(const std::string &task) const;
  void setTurns(const std::string &task, const TurnsOfTask &turns);

private:
  // by the hash of the task's text, then by schedule
  std::map<std::string, std::map<std::string, Measurement>> measured;
  std::map<std::string, TurnsOfTask> finals;
  std::ofstream file;

  void read(const std::string &path);
};

} // namespace lathe::study
