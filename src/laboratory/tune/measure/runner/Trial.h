// One candidate kernel in a child process: its code is mapped, run, checked by the parent process, and timed.
#pragma once

#include "lab/StoredForm.h"
#include "lab/judging/Tolerance.h"
#include "process/Child.h"
#include "tune/measure/runner/Files.h"
#include "tune/measure/runner/GuardedMemory.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::tune {

/// The tuning task of all candidate kernels: operands in stored form, memory for results, and the expected results.
/// All candidates use the same buffers. They cannot write to operands and expected results.
struct RunTask {
  struct Operand {
    std::string file;
    int64_t bytes = 0;
    bool constant = false;
    GuardedMemory memory; // memory of the operand; mapped when a candidate uses the operand unpacked
  };
  struct Result {
    lab::StoredForm form;
    Tensor expected; // expected result, row-major; floats are in float64
    GuardedMemory memory;
  };
  std::vector<Operand> operands;
  std::vector<Result> results;
  lab::Tolerance tolerance;
  int threads = 1;
  double runSeconds = 10; // limit for one run
  int64_t runBytes = 0;   // limit of the memory that a candidate touches besides operands, results and scratch

  /// Reads a "task" message (docs/notes/tuning-measurement.md). Throws Error, also if this machine cannot run the code.
  RunTask(const nlohmann::json &message, const Files &files);
};

/// How a candidate failed: the name of a store::PointStatus, and the reason.
struct TrialFailure {
  std::string status, reason;
};

class Trial {
public:
  /// Maps the buffers of a candidate. `task` and `files` must outlive the trial. Throws Error for a malformed
  /// candidate.
  Trial(RunTask &task, const Files &files, const nlohmann::json &candidate);
  ~Trial();

  /// Starts the child process, runs the kernel once and compares the results with the expected ones.
  std::optional<TrialFailure> check();
  /// Times at least `least` and at most `most` runs, for about `seconds`. Appends the time of each run in seconds.
  std::optional<TrialFailure> time(double seconds, int least, int most, std::vector<double> &samples);
  /// Checks the results of the last run again, and returns how the candidate failed, if it did.
  std::optional<TrialFailure> checkAgain();
  /// Returns the seconds of the run that check() did, including page faults.
  double checkedRun() const { return firstSeconds; }

private:
  struct Code;
  struct Order;
  std::optional<TrialFailure> request(const Order &order, std::vector<double> &samples);
  std::optional<TrialFailure> compare(const char *which);

  RunTask &task;
  std::unique_ptr<Code> code;
  std::unique_ptr<process::Child> child;
  double firstSeconds = 0;
  std::vector<std::string> checked; // bytes of results that were right: equal bytes need no comparison
  int orders = -1;                  // the parent's end of the socket over which orders are sent
};

} // namespace lathe::tune
