// What the study `search` has measured, as JSON lines in a file that grows, so that a study goes on where it ended.
#pragma once

#include "tune/measure/Measurement.h"

#include <fstream>
#include <map>

namespace lathe::study {

using tune::Measurement;

/// The finalists of a task in turns, the prior's schedule first.
struct TurnsOfTask {
  std::vector<std::string> schedules;
  std::vector<double> seconds; // the least sample
  std::vector<double> speed;   // the first one's time over this one's
};

class SearchLog {
public:
  /// Reads the file, which need not exist. The last line may be torn: it is measured again. Throws Error for other lines
  /// that cannot be read.
  explicit SearchLog(const std::string &path);

  /// Tasks are named by the key of codegen/Task.h.
  const Measurement *find(const std::string &task, const std::string &schedule) const;
  const std::map<std::string, Measurement> &of(const std::string &task) const;
  void add(const std::string &task, const Measurement &measurement);

  const TurnsOfTask *turns(const std::string &task) const;
  void setTurns(const std::string &task, const TurnsOfTask &turns);

private:
  std::map<std::string, std::map<std::string, Measurement>> measured; // by the hash of the task, by schedule
  std::map<std::string, TurnsOfTask> finals;
  std::ofstream file;

  void read(const std::string &path);
};

} // namespace lathe::study
