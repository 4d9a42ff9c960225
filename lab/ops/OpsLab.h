// Providers side by side on single operators: every output checked against the reference, then times taken in turns
// while the others stand still.
//
// A *column* is a provider with one of its variants, and a schedule where it takes one, in a worker process of its own;
// a *row* is a problem with a setting; a *point* is one column's result in one row. What goes wrong in a point costs
// that point only.
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

// As they are kept. A passed one is timed unless checkOnly; a mistrusted one has no time: the reference's own output is
// constant. sameAs: an earlier column of the same provider.
using store::PointStatus;
PointStatus statusOf(const process::Failure &failure);

/// A schedule to ask for: that of the fastest tuning record of the task.
constexpr const char *recordedSchedule = "records";

struct OpsColumn {
  ProviderSpec provider;
  std::string variant;
  std::string schedule = {};    // as asked for: "" (the provider's own), recordedSchedule, or a schedule's text
  nlohmann::json platform = {}; // as the provider told it when the column was made; null: not at all
  std::string name() const { return provider.name + ":" + variant + (schedule.empty() ? "" : ":" + schedule); }
  // As its program said of itself, if it was asked (opsColumns): what it cannot do is declined without starting it.
  std::string version = {};
  std::string lacks = {}; // why it answers nothing of the operator; "" where it may
  std::set<store::CacheState> caches = {store::CacheState::hot, store::CacheState::cold,
                                        store::CacheState::coldConstants};
};

struct OpsPoint {
  std::string provider, variant, version;
  std::string schedule;          // as OpsColumn's
  std::string task, scheduleRun; // what it was prepared with, where the provider says so
  PointStatus status = PointStatus::failed;
  std::string reason;         // of every status but passed
  std::string implementation; // where it was prepared
  double prepareSeconds = 0;
  std::optional<double> callSeconds;        // what a call of its provider takes that does next to nothing
  double relativeL2 = 0, maxDifference = 0; // against the reference in float64, where there is an output
  std::vector<std::vector<double>> rounds;  // seconds; all samples of all rounds
  std::vector<Counts> counts;               // of each round, over its samples
  std::string uncounted;                    // why counts are missing (TimingWorker)
  Summary time;
  bool timed() const { return !rounds.empty(); }
};

/// Under which a row is measured.
struct OpsSetting {
  int threads = 1;
  /// In which every timed run finds the caches (lab/providers/ColdCaches.h).
  store::CacheState cache = store::CacheState::hot;
  ActivationLayout layout = ActivationLayout::any;
};

/// Our best against a peer's best: the variants with the lowest median.
struct OpsVerdict : JudgedPair { // peer's time / our time
  std::string peer;              // provider
  size_t ours = 0, theirs = 0;   // indices of points
};

struct OpsRow {
  ListedProblem listed;
  OpsSetting setting;
  std::vector<OpsPoint> points;     // as the columns
  std::vector<size_t> starts;       // rounds of each start of the processes
  std::vector<OpsVerdict> verdicts; // one a peer that has a time, where ours has one
  std::optional<double> otherProcessors, stolenProcessors;
};

struct OpsLabOptions : TurnOptions {
  uint64_t seed = 0; // of the operands
  bool checkOnly = false;
  process::Limits limits; // of each worker
  ProviderTimeouts timeouts;
  std::string via, viaDirectory; // viaCommand's, for all providers; "": they run here
  /// The best schedule that is known of a task; where it is empty none is.
  std::function<std::optional<std::string>(const std::string &task)> bestSchedule;
  std::function<void(const std::string &what)> progress; // may be empty
};

/// Of a right answer: by the types of operands and results, and the length of the sums.
Tolerance toleranceOf(const Problem &problem);

/// Measures rows one after the other; workers live on between them. The first column's provider is "ours".
class OpsLab {
public:
  OpsLab(std::vector<OpsColumn> columns, OpsLabOptions options);
  ~OpsLab();
  OpsRow measure(const ListedProblem &problem, const OpsSetting &setting);

private:
  struct State;
  std::unique_ptr<State> state;
};

/// "lathe", "onednn:winograd", "onednn" (all its variants; our own: the default one) to columns. Throws Error
/// for a provider that is missing (with what to do) or breaks at its start, and for variants it does not have. `op`:
/// the operator whose variants are meant; a provider that has none gets one column, which declines. `schedules`: as
/// OpsColumn's, a column for each; of providers that take none, one with their own.
std::vector<OpsColumn> opsColumns(const std::string &op, const std::vector<std::string> &words,
                                  const OpsLabOptions &options, const std::vector<std::string> &schedules = {""});

/// The results in float64 (integers as they are) by the reference operators, the epilogue included. Operands by
/// position in Problem::inputs(), of any type; undefined where one is missing.
std::vector<Tensor> referenceResults(const Problem &problem, const std::vector<Tensor> &operands);

/// Geometric mean of ratios with counts of verdicts, of rows of one kind of problem ("all": of every kind) and one
/// setting.
struct OpsSummary {
  std::string kind, peer;
  int threads = 1;
  std::string layout = "any", cache = "hot";
  size_t rows = 0, faster = 0, slower = 0, same = 0, ambiguous = 0;
  size_t withinOverhead = 0;           // of the ambiguous ones: the difference may be that of the calls
  size_t slowerBeyond3 = 0;            // verdict slower and the ratio below 1/1.03
  std::optional<double> geometricMean; // over the rows that are not withinOverhead; none where all are
};

nlohmann::json toJson(const OpsRow &row);
/// Of rows as toJson wrote them: those of an earlier run count, too.
std::vector<OpsSummary> summarizeOps(const std::vector<nlohmann::json> &rows);
nlohmann::json toJson(const OpsSummary &summary);

} // namespace lathe::lab
