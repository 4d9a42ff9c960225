// The tuner: searches schedules for the tasks of a model, and keeps schedules that are measurably faster than the
// prior's.
//
//   Tuner tuner(tasks, trials, options, watch);
//   tuner.search();                                   // until the budget, the margin or the limits end it
//   std::vector<TunedTask> tuned = tuner.settle();    // measures the best few of each task in turns with the prior's
//
// It does not depend on processes or the store: `TrialRunner` measures, and `TuneWatch` receives every outcome.
#pragma once

#include "lab/judging/Verdict.h"
#include "tune/Budget.h"
#include "tune/Searcher.h"
#include "tune/measure/Measure.h"
#include "tune/measure/Task.h"

#include <functional>
#include <map>
#include <memory>
#include <span>

namespace lathe::tune {

/// Interface through which the tuner builds, checks and times schedules of a task.
class TrialRunner {
public:
  virtual ~TrialRunner() = default;
  /// Prepares to measure schedules of `task`. Declines, with the reason, a task that cannot be measured.
  virtual Outcome<bool> prepare(const Task &task) = 0;
  /// Measures schedules of a task, in order. `best`: the fastest known time of the task in seconds, or `unmeasured`; a
  /// schedule that is far slower may get few samples.
  virtual std::vector<Measurement> measure(const Task &task, const std::vector<std::string> &schedules,
                                           double best) = 0;
  /// Measures schedules of a task in turns for about `seconds`; all of them have passed before. Returns results in the
  /// order of `schedules`, and judges each schedule against the first.
  virtual std::vector<TurnMeasurement> inTurns(const Task &task, const std::vector<std::string> &schedules,
                                               double seconds) = 0;
};

/// A task with the data that the tuner needs to begin.
struct TaskToTune {
  Task task;
  const KernelFacts *facts;            // outlives the tuner
  std::string prior;                   // text of the prior's schedule, which the task has without tuning
  std::vector<Schedule> rules = {};    // schedules of other algorithms, with which the search begins, too
  double floorSeconds = 0;             // time of a run that no schedule can beat, from the machine's ceilings
  double predictedSeconds = 0;         // predicted time of a run with the prior's schedule
  std::vector<Measurement> known = {}; // measurements of earlier runs on this machine
  /// Schedules that earlier runs kept, or that come with lathe. Those without a measurement are measured first, and
  /// measurements in turns decide about all of them again.
  std::vector<std::string> kept = {};
};

/// Makes the search space for the schedules of a task.
Space spaceOf(const TaskToTune &task);

struct TuneOptions {
  std::string searcher; // name of a searcher (tune/Searcher.h); "": the default
  uint64_t seed = 1;
  size_t trials = 1000;     // limit of a task's trials, including those of earlier runs
  size_t earlyStopping = 0; // end a task after this number of trials without a faster one; 0: never
  size_t batch = 8;         // number of schedules that are built in parallel
  /// The search ends when one batch of every task is expected to gain less than this share of a run of the model.
  double margin = 0.005;
  double deadline = std::numeric_limits<double>::infinity(); // time at which search and settle must end, by `clock`
  double settleSeconds = 0.5;                                // seconds for measuring a task in turns
  size_t finalists = 3; // number of schedules that are measured in turns with the prior's
  // function that gives seconds from any fixed moment; empty: lab::steadySeconds
  std::function<double()> clock = {};
  /// Function that gives the model from which the searcher of a task starts, like StartModel; empty: none.
  std::function<std::shared_ptr<const LearnedModel>(size_t task)> startModel = {};
};

/// The state of tuning after a batch of trials, for messages about progress.
struct TuneState {
  size_t task = 0;               // index of the task to which the batch belongs
  size_t trials = 0, failed = 0; // number of trials of this run; number of these that failed
  bool begun = false;            // true: every task's prior schedule was measured, and the search runs
  /// Seconds of a run of the model, summed over all tasks: with the best schedules, and with the prior's schedules.
  double modelSeconds = 0, beforeSeconds = 0;
  // seconds: the fastest trial of the batch (infinite: none passed); the fastest time known
  double current = 0, best = 0;
  /// Seconds until the functions search and settle end if nothing more is gained, limited by the deadline.
  std::optional<double> secondsLeft = {};
};

/// The result of tuning one task. Times are seconds of a run.
struct TunedTask {
  std::string declined; // reason why the task cannot be measured; "": it was measured
  std::string prior;    // the prior's schedule
  std::string schedule; // the kept schedule: the prior's unless another one is faster beyond doubt
  bool gained = false;  // a schedule other than the prior's is kept
  /// Seconds of a run with the prior's schedule (0: it failed), and with the kept schedule, computed as `before` /
  /// ratio measured in turns.
  double before = 0, after = 0;
  /// Ratio of times, before / after, if both schedules were measured in turns.
  std::optional<lab::JudgedRatio> ratio = {};
  /// The schedules that were last measured in turns, with their measurements; the prior's schedule comes first unless
  /// it failed. Without such measurements there is only the prior's schedule.
  std::vector<TurnMeasurement> finalists = {};
  size_t trials = 0, searched = 0; // number of trials including earlier runs; number of trials of this run
  std::map<store::PointStatus, size_t> failures;

  /// Drops the kept schedule in favour of the prior's, because it gains nothing in a run of the model.
  void drop();
};

/// Callbacks of the tuner, by which it reports results and progress. They may be empty; they are called between
/// measurements.
struct TuneWatch {
  std::function<void(size_t task, const std::vector<Measurement> &)> measured = {};
  std::function<void(const TuneState &)> progress = {};
  std::function<void(size_t task, const TunedTask &)> settled = {};
};

class Tuner {
public:
  /// Prepares tuning. The arguments must outlive the tuner. Throws Error for an unknown searcher.
  Tuner(const std::vector<TaskToTune> &tasks, TrialRunner &runner, TuneOptions options, TuneWatch watch = {});
  ~Tuner();

  /// Measures the prior's schedule of every task, then searches for faster schedules.
  void search();
  /// Decides which schedule each task keeps: another one than the prior's if it is *faster* in turns
  /// (lab/judging/Verdict.h).
  std::vector<TunedTask> settle();
  /// The reason why the search ended, as text: "the time is over", "every task is at its limit".
  const std::string &endReason() const { return reason; }
  /// Seconds that the searchers spent on choosing trials, including the training of their models.
  double chooseSeconds() const { return choosing; }

private:
  struct Running;
  const std::vector<TaskToTune> &tasks;
  TrialRunner &runner;
  TuneOptions options;
  TuneWatch watch;
  std::vector<std::unique_ptr<Running>> running; // the state of the search for each task
  std::string reason;
  double choosing = 0; // seconds spent on choosing trials

  double now() const;
  double settleSeconds() const;
  void begin(size_t task);
  void expectGain(size_t task);
  /// True if one more batch of the task would end after the deadline; `reason` is then set.
  bool isTooLate(size_t task);
  /// Measures `points` and reports them to the task's searcher. Returns false if there are none.
  bool tryBatch(size_t task, const std::vector<Point> &points);
  void tell(size_t task, double current) const;
  TunedTask settle(size_t task);
  std::vector<std::string> finalists(size_t task) const;
};

} // namespace lathe::tune
