// Measurements as the analyses want them: one plain row a point, with its samples and what its problem asks for.
//
// Rows of one *cell* (platform, kind of experiment, problem, setting but for the schedule) did the same work under the
// same circumstances: only those are held against each other.
#pragma once

#include "lab/judging/Verdict.h"
#include "lab/problems/Problem.h"
#include "store/Store.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lathe::report {

struct Row {
  store::ExperimentKind kind = store::ExperimentKind::ops;
  std::string experiment;   // uuid
  std::string platform;     // key
  std::string platformName; // "" where all rows are of one platform: told apart by nothing
  std::string op, problem;
  std::string provider, variant;
  store::Setting setting;
  std::string measured; // when
  store::PointStatus status = store::PointStatus::passed;
  std::string reason, implementation, repro;
  std::vector<std::vector<double>> rounds; // seconds
  std::vector<size_t> starts;              // rounds of each start of the process; empty: it was started once
  double median = 0;                       // of all samples; 0 where there are none
  std::optional<double> callSeconds;       // of a call of the provider that does next to nothing

  // Means of one run over the samples that were counted; none where none was.
  std::optional<double> cpuSeconds, cycles, instructions, cacheMisses, gigahertz;
  std::optional<double> processors; // kept busy on average: processor time over time

  // Of the problem: none for whole models and for what this version cannot read.
  std::optional<lab::Problem> shape;
  double flops = 0, bytes = 0; // 0: not known

  /// Passed and timed: speed is judged by such rows only.
  bool counts() const { return status == store::PointStatus::passed && median > 0; }
};

/// `kind` and `platform` are those of the point's experiment.
Row rowOf(const store::Point &point, store::ExperimentKind kind, const std::string &platform);

/// Those that the filter chooses, in the order of measuring.
std::vector<Row> rowsOf(store::Store &store, const store::Filter &filter);

/// All points of an archive (`lathe store export`). Throws Error as store::readArchive does.
std::vector<Row> rowsOfArchive(const std::string &path);
/// All points of what `lathe ops bench --json` wrote ("rows"). Throws Error for a document of another shape, naming
/// `where`.
std::vector<Row> rowsOfResults(const nlohmann::json &document, const std::string &where);

/// Equal for rows of the same cell.
std::string cellOf(const Row &row);
/// What was measured: the cell, provider, variant and schedule.
std::string keyOf(const Row &row);
/// Of rows with the same key the last one measured, in the order in which the first of them came.
std::vector<Row> latest(std::vector<Row> rows);

/// Rows of each cell, cells in the order of their first row.
std::vector<std::vector<const Row *>> byCell(const std::vector<Row> &rows);

/// "onednn:auto", "lathe" where there is no variant.
std::string columnOf(const Row &row);
/// With the schedule that was asked for: "lathe:auto:records".
std::string scheduledColumnOf(const Row &row);
/// The circumstances in words: "2 threads, cold, bf16"; what is usual is left out, and no threads.
std::string settingText(const store::Setting &setting);
/// The same with the kind of experiment, and the platform where there are several: equal for rows that may be summed
/// up.
std::string contextText(const Row &row);
/// What decides the speed beside the problem, as far as it is known: the schedule's text where one was asked for, else
/// the implementation.
const std::string &scheduleOf(const Row &row);

/// The numerator's time over the denominator's, judged in turns where both were measured so (one experiment of `lathe
/// ops bench` or `lathe compare`, the same starts and rounds). Else as two independent sets, whose values are the
/// medians of starts of the process where both have three at least, of rounds where both have six, and all samples
/// otherwise: what lasts for a start or a round is one observation, not many. What the calls may explain is ambiguous
/// (lab::besideOverhead). Both rows count.
lab::JudgedRatio judgeTimes(const Row &numerator, const Row &denominator, double band = lab::indifference);

/// The fields that tell what a row is, for documents.
nlohmann::json identityJson(const Row &row);

} // namespace lathe::report
