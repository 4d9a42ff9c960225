// Compares providers on single operators: checks every output against the reference, then times the providers
// in turns while the others are stopped.
//
// A *column* is a provider with a variant and possibly a schedule, in its own worker process; a *row* is a
// problem with a setting; a *point* is the result of one column in one row. A failure affects one point only.
#pragma once

#include "lab/compare/Compare.h"
#include "lab/judging/Turns.h"
#include "lab/ops/ProviderWorker.h"
#include "lab/problems/ProblemList.h"
#include "store/Records.h"

#include <functional>
#include <optional>
#include <set>

namespace lathe::lab {

// The statuses of the store. A passed point is timed unless checkOnly is set. A mistrusted point (the reference's
// output is constant) has no time. sameAs refers to an earlier column of the same provider.
using store::PointStatus;
PointStatus statusOf(const process::Failure &failure);

/// Schedule text that requests the schedule of the fastest tuning record of the task.
constexpr const char *recordedSchedule = "records";

struct OpsColumn {
  ProviderSpec provider;
  std::string variant;
  std::string schedule = {};    // "" (the provider's choice), recordedSchedule, or a schedule text
  nlohmann::json platform = {}; // as the provider reported it; null: not reported
  std::string name() const { return provider.name + ":" + variant + (schedule.empty() ? "" : ":" + schedule); }
  // Reported by the program (opsColumns). Unsupported requests are declined without starting it.
  std::string version = {};
  std::string lacks = {}; // why it cannot compute the operator; "": it may
  std::set<store::CacheState> caches = {store::CacheState::hot, store::CacheState::cold,
                                        store::CacheState::coldConstants};
};

struct OpsPoint {
  std::string provider, variant, version;
  std::string schedule;          // as in OpsColumn
  std::string task, scheduleRun; // task and schedule that were prepared, if reported
  PointStatus status = PointStatus::failed;
  std::string reason;         // empty if passed
  std::string implementation; // "": not prepared
  double prepareSeconds = 0;
  std::optional<double> callSeconds;        // time of a call that computes one element
  double relativeL2 = 0, maxDifference = 0; // against the float64 reference
  std::vector<std::vector<double>> rounds;  // seconds; all samples of all rounds
  std::vector<Counts> counts;               // of each round, over its samples
  std::string uncounted;                    // why counts are missing (TimingWorker)
  Summary time;
  bool leftOut = false; // without later rounds: the point had used its share of the row's time (OpsLabOptions)
  bool timed() const { return !rounds.empty(); }
};

/// Setting of a row.
struct OpsSetting {
  int threads = 1;
  /// State of the caches before every timed run (lab/providers/ColdCaches.h).
  store::CacheState cache = store::CacheState::hot;
  ActivationLayout layout = ActivationLayout::any;
};

/// Our best variant against the best variant of a peer, by median.
struct OpsVerdict : JudgedPair { // peer's time / our time
  std::string peer;              // provider
  size_t ours = 0, theirs = 0;   // indices into OpsRow::points
};

struct OpsRow {
  ListedProblem listed;
  OpsSetting setting;
  std::vector<OpsPoint> points;     // one per column
  std::vector<size_t> starts;       // number of rounds of each process start
  std::vector<OpsVerdict> verdicts; // one per peer with a time, if ours has a time
  std::optional<double> otherProcessors, stolenProcessors;
  size_t slowRounds = 0; // that began while the processors did not run at full speed (lab/judging/FullSpeed.h)
};

/// A column that has used its share of a row's time (maxSeconds / number of columns) gets no further rounds if another
/// column of its provider is faster: no verdict waits for it, and it would slow down the others. It has at least one
/// round.
struct OpsLabOptions : TurnOptions {
  uint64_t seed = 0; // seed of the operands
  bool checkOnly = false;
  process::Limits limits; // limits of each worker
  ProviderTimeouts timeouts;
  std::string via, viaDirectory; // arguments of viaCommand; "": run here
  /// Returns the schedule of the fastest tuning record of a task, or nothing. The provider cannot read the store, so it
  /// gets the schedule with the task (compile/ScheduleSource.h, TaskSchedules). Empty: there are no records.
  std::function<std::optional<std::string>(const std::string &task)> recordedSchedules;
  /// Called with each step. `begun`: the sum of the finished shares of the rows in progress. May be empty.
  std::function<void(const std::string &what, double begun)> progress;
  /// Asked between starts; if it returns true, rows with minStarts starts get no more starts. Empty: never.
  std::function<bool()> late;
};

/// Bounds for a right output, by the types of operands and results and the lengths of the sums.
Tolerance toleranceOf(const Problem &problem);

/// A problem with a setting to be measured as a row.
struct OpsRequest {
  ListedProblem listed;
  OpsSetting setting;
};

/// Measures rows. Up to rowsAtATime rows take turns: a row gets one process start, then the next row gets one. So the
/// starts of a row are far apart in time, and show if the machine is slower for some seconds (docs/measuring.md). The
/// provider of the first column is "ours".
class OpsLab {
public:
  static constexpr size_t rowsAtATime = 16;
  static constexpr double bytesAtATime = 256e6; // of operands and results; one row may have more

  /// The columns of an operator. Must return the same list every time while the laboratory exists.
  using ColumnsOf = std::function<const std::vector<OpsColumn> &(const std::string &op)>;
  OpsLab(ColumnsOf columnsOf, OpsLabOptions options);
  /// The same columns for all operators.
  OpsLab(std::vector<OpsColumn> columns, OpsLabOptions options);
  ~OpsLab();
  /// Measures the requests from `next` until it returns nothing; `done` gets every row when it is finished, in any
  /// order.
  void measure(const std::function<std::optional<OpsRequest>()> &next, const std::function<void(OpsRow)> &done);
  OpsRow measure(const ListedProblem &problem, const OpsSetting &setting);

  struct State;

private:
  std::unique_ptr<State> state;
};

/// Converts words to columns: "onednn:winograd", "lathe:all" for all variants, or "onednn", which means all variants of
/// a peer and the default variant of our own provider. Throws Error for a provider that is not installed (with
/// instructions) or fails at its start, and for unknown variants. `op` is the operator of the variants; a provider
/// without it gets one column, which declines. `schedules` as in OpsColumn, one column each; providers without
/// schedules get one column.
std::vector<OpsColumn> opsColumns(const std::string &op, const std::vector<std::string> &words,
                                  const OpsLabOptions &options, const std::vector<std::string> &schedules = {""});

/// Results of the references in float64 (integers unchanged), with the epilogue. Operands are by
/// position in Problem::inputs(), of any type; undefined if missing.
std::vector<Tensor> referenceResults(const Problem &problem, const std::vector<Tensor> &operands);

/// Geometric mean of ratios and counts of verdicts, for rows of one kind of problem ("all": every
/// kind) and one setting.
struct OpsSummary {
  std::string kind, peer;
  int threads = 1;
  std::string layout = "any", cache = "hot";
  size_t rows = 0, faster = 0, slower = 0, same = 0, ambiguous = 0;
  size_t withinOverhead = 0;           // ambiguous rows whose difference the cost of calls may explain
  size_t slowerBeyond3 = 0;            // verdict slower and the ratio below 1/1.03
  std::optional<double> geometricMean; // over rows that are not withinOverhead; empty if there are none
};

nlohmann::json toJson(const OpsRow &row);
/// Summarises rows in the form of toJson, including rows of earlier runs.
std::vector<OpsSummary> summarizeOps(const std::vector<nlohmann::json> &rows);
nlohmann::json toJson(const OpsSummary &summary);

} // namespace lathe::lab
