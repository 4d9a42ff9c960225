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

// Statuses of points are those of the store. A passed point is timed unless checkOnly is set. A mistrusted point (the
// reference's output is constant) has no time. sameAs refers to an earlier column of the same provider.
using store::PointStatus;
PointStatus statusOf(const process::Failure &failure);

/// The text that requests, as a schedule, the schedule of the task's fastest tuning record.
constexpr const char *recordedSchedule = "records";

struct OpsColumn {
  ProviderSpec provider;
  std::string variant;
  std::string schedule = {};    // "": the provider's own choice; recordedSchedule; or the text of a schedule
  nlohmann::json platform = {}; // platform as the provider has reported it; null: not reported
  std::string name() const { return provider.name + ":" + variant + (schedule.empty() ? "" : ":" + schedule); }
  // The provider has reported the following members (opsColumns). Requests that they rule out are declined without
  // starting the provider.
  std::string version = {};
  std::string lacks = {}; // why the provider cannot compute the operator; "": it may be able to
  std::set<store::CacheState> caches = {store::CacheState::hot, store::CacheState::cold,
                                        store::CacheState::coldConstants};
};

struct OpsPoint {
  std::string provider, variant, version;
  std::string schedule;          // OpsColumn::schedule of the column
  std::string task, scheduleRun; // task and schedule of the prepared problem, if the provider reports them
  PointStatus status = PointStatus::failed;
  std::string reason;         // reason of another status than passed
  std::string implementation; // implementation that the provider chose; "": not prepared
  double prepareSeconds = 0;
  std::optional<double> callSeconds;        // time of a call that computes one element
  double relativeL2 = 0, maxDifference = 0; // errors against the float64 reference
  std::vector<std::vector<double>> rounds;  // seconds; all samples of all rounds
  std::vector<Counts> counts;               // hardware counts of each round, over its samples
  std::string uncounted;                    // why counts are missing (TimingWorker)
  Summary time;
  bool leftOut = false; // has no later rounds, because the point had used its share of the row's time (OpsLabOptions)
  bool timed() const { return !rounds.empty(); }
};

/// Setting of a row: what all its points have in common besides the problem.
struct OpsSetting {
  int threads = 1;
  /// State of the caches before every timed run (lab/providers/ColdCaches.h).
  store::CacheState cache = store::CacheState::hot;
  ActivationLayout layout = ActivationLayout::any;
};

/// Our fastest variant against the fastest variant of a peer, by median time.
struct OpsVerdict : JudgedPair { // ratio: peer's time / our time
  std::string peer;              // name of the provider
  size_t ours = 0, theirs = 0;   // indices into OpsRow::points
};

struct OpsRow {
  ListedProblem listed;
  OpsSetting setting;
  std::vector<OpsPoint> points;     // one per column
  std::vector<size_t> starts;       // number of rounds of each process start
  std::vector<OpsVerdict> verdicts; // one per peer with a time, if ours has a time
  std::optional<double> otherProcessors, stolenProcessors;
  /// Number of rounds that began while the processors did not run at full speed (lab/judging/FullSpeed.h).
  size_t slowRounds = 0;
};

/// A column that has used its share of a row's time (maxSeconds / number of columns) gets no further rounds if another
/// column of its provider is faster: no verdict waits for it, and it would slow down the others. Every column has at
/// least one round.
struct OpsLabOptions : TurnOptions {
  uint64_t seed = 0; // seed from which operands are generated
  bool checkOnly = false;
  process::Limits limits; // limits of each worker
  ProviderTimeouts timeouts;
  /// Arguments of viaCommand, for a provider on another machine; "": the provider runs here.
  std::string via, viaDirectory;
  /// Returns the schedule of the fastest tuning record of a task, or nothing. The provider cannot read the store, so it
  /// gets the schedule with the task (compile/ScheduleSource.h, TaskSchedules). Empty: there are no records.
  std::function<std::optional<std::string>(const std::string &task)> recordedSchedules;
  /// Called with each step, `what`. `begun`: how many rows are done of the rows in progress, as a sum of shares. May be
  /// empty.
  std::function<void(const std::string &what, double begun)> progress;
  /// Asked between starts. If it returns true, rows that have minStarts starts get no more. Empty: never.
  std::function<bool()> late;
};

/// Bounds for the error of a right output of `problem`, from the types of operands and results and the lengths of the
/// sums.
Tolerance toleranceOf(const Problem &problem);

/// A request to measure a row: a problem with a setting.
struct OpsRequest {
  ListedProblem listed;
  OpsSetting setting;
};

/// Measures rows. Up to rowsAtATime rows take turns: a row gets one process start, then the next row gets one. So the
/// starts of a row are far apart in time, and show if the machine is slower for some seconds (docs/measuring.md). The
/// provider of the first column counts as ours.
class OpsLab {
public:
  static constexpr size_t rowsAtATime = 16;
  /// Limit for the operands and results of all rows in turn; a single row may exceed it.
  static constexpr double bytesAtATime = 256e6;

  /// Returns the columns for an operator; always the same list while the laboratory exists.
  using ColumnsOf = std::function<const std::vector<OpsColumn> &(const std::string &op)>;
  OpsLab(ColumnsOf columnsOf, OpsLabOptions options);
  /// A laboratory with the same columns for all operators.
  OpsLab(std::vector<OpsColumn> columns, OpsLabOptions options);
  ~OpsLab();
  /// Measures the problems that `next` returns, until it returns nothing. `done` gets every row when it is finished, in
  /// any order.
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

/// Results of the references for a problem with its epilogue, in float64 (integers unchanged). Operands are by position
/// in Problem::inputs(), of any type; undefined if missing.
std::vector<Tensor> referenceResults(const Problem &problem, const std::vector<Tensor> &operands);

/// Geometric mean of ratios and counts of verdicts, for rows of one kind of problem ("all": every
/// kind) and one setting.
struct OpsSummary {
  std::string kind, peer;
  int threads = 1;
  std::string layout = "any", cache = "hot";
  size_t rows = 0, faster = 0, slower = 0, same = 0, ambiguous = 0;
  size_t withinOverhead = 0; // ambiguous rows whose difference the cost of calls may explain
  size_t slowerBeyond3 = 0;  // verdict slower and the ratio below 1/1.03
  /// Geometric mean of the ratios of rows that are not withinOverhead; empty if there are none.
  std::optional<double> geometricMean;
};

nlohmann::json toJson(const OpsRow &row);
/// Summarises rows in the form of toJson, including rows of earlier runs.
std::vector<OpsSummary> summarizeOps(const std::vector<nlohmann::json> &rows);
nlohmann::json toJson(const OpsSummary &summary);

} // namespace lathe::lab
