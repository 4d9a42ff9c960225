// Rows of measurements, which analyses use: one plain row per point, with its samples and the operations of its
// problem.
//
// A *cell* is a set of rows with equal platform, kind of experiment, problem and setting (except the schedule). These
// rows did the same work under the same conditions; only rows of one cell are compared.
#pragma once

#include "lab/judging/Verdict.h"
#include "lab/problems/Problem.h"
#include "store/Store.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lathe::report {

/// How a row was timed: what comparisons of times need beside the times themselves.
struct Timing {
  std::string experiment;            // uuid of the row's experiment
  std::vector<size_t> starts;        // number of rounds of each start of the process; empty: one start
  bool tookTurns = false;            // the row was timed in turns with the other rows of its experiment
  std::optional<double> callSeconds; // seconds of a call of the provider that computes one element
  bool disturbed = false;            // other programs ran during the measurement (lab/machine/Disturbance.h)
};

struct Row : Timing {
  store::ExperimentKind kind = store::ExperimentKind::ops;
  std::string platform;     // key of the platform
  std::string platformName; // short name (PlatformNames.h); "" if all rows are of one platform
  std::string op, problem;
  std::string provider, variant;
  store::Setting setting;
  std::string measured; // date and time in UTC, "2026-01-02T00:00:00.000000Z"
  store::PointStatus status = store::PointStatus::passed;
  std::string reason, implementation, repro;
  std::vector<std::vector<double>> rounds; // seconds of each run, by round
  double median = 0;                       // median of all samples in seconds; 0: no samples

  // Means of hardware counters per run, over the samples that have the counter; empty if no sample has it.
  std::optional<double> cpuSeconds, cycles, instructions, cacheMisses, gigahertz;
  std::optional<double> processors; // number of processors that were busy on average: processor time / time

  // The parsed problem; empty for whole models and for texts that this version cannot parse.
  std::optional<lab::Problem> shape;
  double flops = 0, bytes = 0; // operations and bytes of the problem; 0: unknown
  double predictedCycles = 0;  // core cycles of one run that a cost model expected; 0: unknown

  /// True if Lathe checked the outputs of the point. False for points of other programs; their columns say so.
  bool verifiedHere() const { return status != store::PointStatus::notVerified; }
  /// True if something ran beside the measured work (store::Company).
  bool inCompany() const { return !setting.company.empty(); }
  /// True if the row has a time and either passed or is not verified here. Only such rows are compared. Rows that are
  /// not verified here are in separate cells, because their experiments are `imported`.
  bool counts() const { return (status == store::PointStatus::passed || !verifiedHere()) && median > 0; }
};

/// True if the points of the experiment were timed in turns. For experiments of kind `bench` the settings tell: `lathe
/// sweep` stores `--starts` there, and `lathe bench` has no turns.
bool tookTurns(const store::Experiment &experiment);

/// Makes a row from a point of `experiment`.
Row rowOf(const store::Point &point, const store::Experiment &experiment);

/// Returns rows of the points that the filter selects, in the order of their measurement.
std::vector<Row> rowsOf(store::Store &store, const store::Filter &filter);

/// Returns rows of all points of an archive (`lathe store export`). Throws the errors of store::readArchive.
std::vector<Row> rowsOfArchive(const std::string &path);
/// Returns rows of all points in a document of `lathe ops bench --json` (member "rows"). Throws Error with `where` for
/// another document.
std::vector<Row> rowsOfResults(const nlohmann::json &document, const std::string &where);

/// The key of the cell to which a row belongs: equal for the rows of one cell.
std::string cellOf(const Row &row);
/// The key of what a row measures: cell, provider, variant and schedule.
std::string keyOf(const Row &row);
/// Keeps of all rows with one key (keyOf) the row measured last, in the order of the first rows.
std::vector<Row> latest(std::vector<Row> rows);

/// Groups rows by cell, in the order of each cell's first row. `acrossPlatforms`: a cell has rows of all platforms.
std::vector<std::vector<const Row *>> byCell(const std::vector<Row> &rows, bool acrossPlatforms = false);

/// The column of a row (its provider and variant) as text: "onednn:auto"; "lathe" without a variant; "benchdnn:jit
/// (not verified here)".
std::string columnOf(const Row &row);
/// The column of a row with its requested schedule as text: "lathe:auto:records". "(not verified here)" may follow as
/// in columnOf.
std::string scheduledColumnOf(const Row &row);
/// A setting as text without default values: "2 threads, cold, bf16".
std::string settingText(const store::Setting &setting);
/// The setting of a row as text (settingText), with the kind of experiment, and the platform if there are several.
/// Times of rows with equal texts may be added up.
std::string contextText(const Row &row);
/// The requested schedule of a row; if there is none, its implementation.
const std::string &scheduleOf(const Row &row);

/// The times of a row in seconds, grouped by starts of the process.
lab::Starts startsOf(const Row &row);

/// Judges the ratio of two times; both rows must count. Rows measured in turns (one experiment with
/// turns, equal starts and rounds) are judged by lab::judgeInTurns, as the verb that measured them does.
/// Other rows are judged by lab::judgeApart, which takes a start for one observation. Neither has a
/// verdict with fewer than three starts. A difference that the cost of calls may explain is ambiguous
/// (lab::besideOverhead).
lab::JudgedRatio judgeTimes(const Row &numerator, const Row &denominator, double band = lab::indifference);
/// Judges the ratio of two times like the function above, for rows whose times the caller has already reduced to one
/// statistic.
lab::JudgedRatio judgeTimes(const Timing &numerator, const lab::SideTimes &top, const Timing &denominator,
                            const lab::SideTimes &bottom, double band = lab::indifference);

/// A note for readers of a report: "3 of 10 points are not verified here: ..."; "" if all points are verified here.
std::string unverifiedNote(const std::vector<Row> &rows);

/// The JSON fields that identify a row. A row that is not verified here also has "verified_here": false.
nlohmann::json identityJson(const Row &row);

} // namespace lathe::report
