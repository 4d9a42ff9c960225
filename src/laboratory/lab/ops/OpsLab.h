// Compares providers on single operators: checks every output against the reference, then times the providers
// in turns while the others are stopped.
//
// A *column* is a provider with a variant and possibly a schedule, in its own worker process; a *row* is a
// problem with a setting; a *point* is the result of one column in one row. A failure affects one point only.
#pragma once

#include "lab/compare/Compare.h"
#include "lab/judging/Turns.h"
#include "lab/machine/CpusOfBoth.h"
#include "lab/ops/ProviderWorker.h"
#include "lab/problems/ProblemList.h"
#include "lab/resources/HeldResources.h"
#include "store/Records.h"

#include <functional>
#include <optional>
#include <set>

namespace lathe::lab {

// Statuses of points are those of the store. A point with status passed is timed unless checkOnly is set. A
// mistrusted point (the reference's output is constant) has no time. sameAs refers to an earlier column of the same
// provider.
using store::PointStatus;
PointStatus statusOf(const process::Failure &failure);

/// The text that, given as a schedule, requests the schedule of the task's fastest tuning record.
constexpr const char *recordedSchedule = "records";

struct OpsColumn {
  ProviderSpec provider;
  std::string variant;
  std::string schedule = {};    // text of a schedule, or recordedSchedule; "": the provider's own choice
  nlohmann::json platform = {}; // platform that the provider has reported; null: none
  std::string name() const { return provider.name + ":" + variant + (schedule.empty() ? "" : ":" + schedule); }
  // The provider has reported the following members (opsColumns). Requests that they rule out are declined without
  // starting the provider.
  std::string version = {};
  std::string lacks = {}; // the reason why the provider cannot compute the operator; "": it may be able to
  std::set<store::CacheState> caches = {store::CacheState::hot, store::CacheState::cold,
                                        store::CacheState::coldConstants};
};

struct OpsPoint {
  std::string provider, variant, version;
  std::string schedule;          // schedule requested by the column (OpsColumn::schedule)
  std::string task, scheduleRun; // task and schedule of the prepared problem, if the provider reports them
  double predictedCycles = 0;    // core cycles of one run that its cost model expects; 0: unknown
  PointStatus status = PointStatus::failed;
  std::string reason;         // reason for a status other than passed
  std::string implementation; // implementation that the provider chose; "": the problem was not prepared
  double prepareSeconds = 0;
  std::optional<double> callSeconds;        // seconds of a call that computes one element
  double relativeL2 = 0, maxDifference = 0; // errors against the float64 reference
  std::vector<std::vector<double>> rounds;  // seconds of all samples, by round
  std::vector<Counts> counts;               // hardware counts of each round, added over its samples
  std::string uncounted;                    // the reason why hardware counts are missing (TimingWorker)
  Summary time;
  store::Company company = {};     // what ran beside the column; empty: the column ran alone
  std::vector<int64_t> besideRuns; // in company: runs of the companion that ended within the samples of each round
  // true: no later rounds, because the point had used its share of the row's time (OpsLabOptions)
  bool leftOut = false;
  bool timed() const { return !rounds.empty(); }
  /// Figures of a timed point in company (docs/store.md): companion_runs and companion_rate; no others.
  std::map<std::string, double> figures() const;
};

/// A companion: a problem that a column of its own runs without end beside the measured columns.
struct OpsBeside {
  store::Company company;
  Problem problem;
  OpsColumn column;
};

/// The setting of a row: what all its points have in common besides the problem.
struct OpsSetting {
  int threads = 1;
  /// State of the caches before every timed run (lab/providers/ColdCaches.h).
  store::CacheState cache = store::CacheState::hot;
  ActivationLayout layout = ActivationLayout::any;
  Resources resources = {}; // held from the start of the providers' processes on
  /// Every column is measured alone and beside each of these companions, in turns.
  std::vector<OpsBeside> beside = {};
  /// CPUs to which columns (also when they run alone) and companions are bound; empty without companions.
  CpusOfBoth cpus = {};
};

/// The points of a row before it is measured: those of all columns alone, then those of all columns beside the first
/// companion, and so on.
std::vector<OpsPoint> pointsToMeasure(const std::vector<OpsColumn> &columns, const OpsSetting &setting);

/// The comparison of a column in company with the same column alone.
struct OpsSlowDown : JudgedPair { // ratio: time in company / time alone
  size_t together = 0, alone = 0; // indices into OpsRow::points
};

/// The comparison of our fastest variant with the fastest variant of a peer (another provider), by median time.
struct OpsVerdict : JudgedPair { // ratio: peer's time / our time
  std::string peer;              // name of the peer's provider
  size_t ours = 0, theirs = 0;   // indices into OpsRow::points
};

struct OpsRow {
  ListedProblem listed;
  OpsSetting setting;
  std::vector<OpsPoint> points;       // in the order of pointsToMeasure
  std::vector<size_t> starts;         // number of rounds of each process start
  std::vector<OpsVerdict> verdicts;   // one verdict per peer with a time, if our provider has a time; of columns alone
  std::vector<OpsSlowDown> slowDowns; // one for each point in company with a time
  std::optional<double> otherProcessors, stolenProcessors;
  std::map<std::string, std::string> held; // HeldResources::readBack while the row was timed
  /// Number of rounds that began while the processors did not run at full speed (lab/judging/FullSpeed.h).
  size_t slowRounds = 0;
};

/// Options of measurements by OpsLab. A column that has used its share of a row's time (maxSeconds / number of
/// columns) gets no further rounds if another column of its provider is faster: no verdict waits for it, and it would
/// slow down the others. Every column has at least one round.
struct OpsLabOptions : TurnOptions {
  uint64_t seed = 0; // seed from which operands are generated
  bool checkOnly = false;
  process::Limits limits; // limits of each worker process
  ProviderTimeouts timeouts;
  /// Arguments of viaCommand, for a provider on another machine; via "": the provider runs on this machine.
  std::string via, viaDirectory;
  /// Function that returns the schedule of the fastest tuning record of a task, or nothing. The provider cannot read
  /// the store, so it gets the schedule with the task (compile/ScheduleSource.h, TaskSchedules). Empty: there are no
  /// records.
  std::function<std::optional<std::string>(const std::string &task)> recordedSchedules;
  /// Function that is called with a description of each step, `what`. `begun`: the finished share of each row in
  /// progress, summed. May be empty.
  std::function<void(const std::string &what, double begun)> progress;
  /// Function that is asked between starts whether time is short. If it returns true, rows that have minStarts starts
  /// get no more. Empty: never.
  std::function<bool()> late;
};

/// Bounds for the error of a right output of `problem`, from the types of operands and results and the lengths of the
/// sums.
Tolerance toleranceOf(const Problem &problem);

/// A request to measure one row: a problem with a setting.
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
  /// Limit on the bytes of operands and results of all rows that take turns; a single row may exceed it.
  static constexpr double bytesAtATime = 256e6;

  /// Function that returns the columns for an operator; always the same list while the laboratory exists.
  using ColumnsOf = std::function<const std::vector<OpsColumn> &(const std::string &op)>;
  OpsLab(ColumnsOf columnsOf, OpsLabOptions options);
  /// Makes a laboratory with the same columns for all operators.
  OpsLab(std::vector<OpsColumn> columns, OpsLabOptions options);
  ~OpsLab();
  /// Measures the problems that `next` returns, until it returns nothing. `done` gets every row when the row is
  /// finished, in any order.
  void measure(const std::function<std::optional<OpsRequest>()> &next, const std::function<void(OpsRow)> &done);
  OpsRow measure(const ListedProblem &problem, const OpsSetting &setting);

  struct State;

private:
  std::unique_ptr<State> state;
};

/// Converts words to columns: "onednn:winograd", "lathe:all" for all variants, or "onednn", which means all variants
/// of a peer and the default variant of our own provider. Throws Error for a provider that is not installed (with
/// instructions) or fails at its start, and for unknown variants. `op` is the operator whose variants are meant; a
/// provider without it gets one column, which declines. `schedules` as in OpsColumn, one column each; providers
/// without schedules get one column.
std::vector<OpsColumn> opsColumns(const std::string &op, const std::vector<std::string> &words,
                                  const OpsLabOptions &options, const std::vector<std::string> &schedules = {""});

/// Results of a problem with its epilogue, computed by the reference operators in float64 (integers unchanged).
/// Operands are by position in Problem::inputs(), of any type; undefined if missing.
std::vector<Tensor> referenceResults(const Problem &problem, const std::vector<Tensor> &operands);

/// Geometric mean of ratios and counts of verdicts against one peer, over rows of one kind of problem ("all": every
/// kind) and one setting.
struct OpsSummary {
  std::string kind, peer;
  int threads = 1;
  std::string layout = "any", cache = "hot", resources; // resources: Resources::text
  size_t rows = 0, faster = 0, slower = 0, same = 0, ambiguous = 0;
  size_t withinOverhead = 0; // number of ambiguous rows whose difference the cost of calls may explain
  size_t slowerBeyond3 = 0;  // number of rows with the verdict slower and a ratio below 1/1.03
  /// Geometric mean of the ratios of rows that are not withinOverhead; empty if there are no such rows.
  std::optional<double> geometricMean;
};

nlohmann::json toJson(const OpsRow &row);
/// Summarises rows that are JSON in the form of toJson, including rows of earlier runs.
std::vector<OpsSummary> summarizeOps(const std::vector<nlohmann::json> &rows);
nlohmann::json toJson(const OpsSummary &summary);

} // namespace lathe::lab
