// The runner process (tune/measure/runner/): started again when it ends, on this machine or at the other end of a pipe.
#pragma once

#include "process/Worker.h"
#include "tune/measure/Measure.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <set>

namespace lathe::tune {

/// What the runner says of a trial.
struct RunOutcome {
  store::PointStatus status = store::PointStatus::failed;
  std::string reason;
  std::vector<double> seconds; // samples
};

class RunnerProcess {
public:
  /// `program`: lathe-tune-runner here; with MeasureOptions::via its name is looked for at the other end.
  RunnerProcess(const MeasureOptions &options, const std::string &program);
  ~RunnerProcess();

  /// Sets the task: `message` is the answer of Builders::prepare, `key` identifies it. Throws Error if the runner cannot be
  /// started or cannot run the task's code.
  void setTask(const nlohmann::json &message, const std::string &key);
  /// Checks and times a candidate of the task. `slow`: seconds of a run that is not worth repeating; 0: none.
  RunOutcome measure(const nlohmann::json &candidate, double slow);

  // Several candidates in turns: each is opened under a number, which checks it, then gets turns.
  RunOutcome open(int side, const nlohmann::json &candidate);
  RunOutcome turn(int side, double seconds, int most);
  void closeAll();

private:
  const MeasureOptions &options;
  process::Command command;
  bool remote = false;
  std::optional<process::Worker> worker;
  nlohmann::json task; // of the last setTask
  std::string taskKey, sentTask;
  std::set<std::string> sent; // files at the other end
  int64_t sentBytes = 0;

  void start();
  void prepare(const nlohmann::json *candidate);
  void send(const std::string &file);
  RunOutcome ask(const nlohmann::json &request, const nlohmann::json *candidate, double timeoutSeconds);
};

} // namespace lathe::tune
