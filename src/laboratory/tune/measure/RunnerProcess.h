// The process that runs candidates for the tuner (tune/measure/runner/), on this machine or at the other end of a
// pipe. It is restarted when it ends.
#pragma once

#include "process/Worker.h"
#include "tune/measure/Measure.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <set>

namespace lathe::tune {

/// The runner's result for one candidate.
struct RunOutcome {
  store::PointStatus status = store::PointStatus::failed;
  std::string reason;
  std::vector<double> seconds; // seconds of each timed run
};

class RunnerProcess {
public:
  /// `program`: path of lathe-tune-runner on this machine; with MeasureOptions::via, a program of this name on the
  /// other machine.
  RunnerProcess(const MeasureOptions &options, const std::string &program);
  ~RunnerProcess();

  /// Sets the task whose candidates follow: `message` is the result of Builders::prepare, `key` identifies the task.
  /// Throws Error if the runner cannot be started or cannot run the task's code.
  void setTask(const nlohmann::json &message, const std::string &key);
  /// Checks and times a candidate of the task. `slow`: if a run takes this many seconds or more, it is not repeated;
  /// 0: always repeat.
  RunOutcome measure(const nlohmann::json &candidate, double slow);

  // The functions below are for candidates that are timed in turns: `open` opens a candidate under a number and
  // checks it; then it gets turns.
  RunOutcome open(int side, const nlohmann::json &candidate);
  RunOutcome turn(int side, double seconds, int most);
  void closeAll();

private:
  const MeasureOptions &options;
  process::Command command;
  bool remote = false;
  std::optional<process::Worker> worker;
  nlohmann::json task; // message of the last call of setTask
  std::string taskKey, sentTask;
  std::set<std::string> sent; // names of files that were sent to the other machine
  int64_t sentBytes = 0;

  void start();
  void prepare(const nlohmann::json *candidate);
  void send(const std::string &file);
  RunOutcome ask(const nlohmann::json &request, const nlohmann::json *candidate, double timeoutSeconds);
  /// Asks for times, while the companion runs if there is one.
  RunOutcome askForTimes(nlohmann::json request, const nlohmann::json *candidate, double timeoutSeconds);
};

} // namespace lathe::tune
