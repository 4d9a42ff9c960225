// Exports measurements in the formats of other programs.
#pragma once

#include "store/Store.h"

namespace lathe::jobs {

/// A column of a CSV table.
struct CsvColumn {
  std::string name;
  std::string type; // text, integer, "optional integer" or number; an empty cell of the latter two: none
};
/// The columns of exportPointsCsv, and of exportSamplesCsv.
std::vector<CsvColumn> pointColumns();
std::vector<CsvColumn> sampleColumns();

/// Write CSV tables with a title line (RFC 4180): one row per point, with times summarised over all
/// rounds, or one row per sample. Return the number of rows.
size_t exportPointsCsv(store::Store &store, const store::Filter &filter, const std::string &path);
size_t exportSamplesCsv(store::Store &store, const store::Filter &filter, const std::string &path);

/// Writes the format of Google Benchmark's --benchmark_format=json, which its compare.py reads. A round becomes a
/// repetition, its samples become iterations, and its time is their mean. `cpu_time` is 0 if not measured. Hardware
/// counters have the names of --benchmark_perf_counters. Points without a time have `error_occurred`. Throws Error if
/// the points come from several platforms, because the format has one context. Returns the number of points.
size_t exportBenchmarkJson(store::Store &store, const store::Filter &filter, const std::string &path);

} // namespace lathe::jobs
