// Exports a store's measurements in formats of other programs: CSV and Google Benchmark's JSON.
#pragma once

#include "store/Store.h"

namespace lathe::jobs {

/// A column of a CSV table.
struct CsvColumn {
  std::string name;
  // type of the cells: text, integer, "optional integer" or number; with the last two, an empty cell means no value
  std::string type;
};
/// Return the columns of the tables that exportPointsCsv and exportSamplesCsv write.
std::vector<CsvColumn> pointColumns();
std::vector<CsvColumn> sampleColumns();

/// Write measured points as CSV tables with a title line (RFC 4180). exportPointsCsv writes one row per point, with
/// times summarised over all rounds; exportSamplesCsv writes one row per sample. Both return the number of rows.
size_t exportPointsCsv(store::Store &store, const store::Filter &filter, const std::string &path);
size_t exportSamplesCsv(store::Store &store, const store::Filter &filter, const std::string &path);

/// Writes points in the format of Google Benchmark's --benchmark_format=json, which its compare.py reads. A round
/// becomes a repetition, its samples become iterations, and its time is their mean. `cpu_time` is 0 if it was not
/// measured. Processor counters have the names of --benchmark_perf_counters. Points without a time have
/// `error_occurred`. Throws Error if the points come from several platforms, because the format has one context.
/// Returns the number of points.
size_t exportBenchmarkJson(store::Store &store, const store::Filter &filter, const std::string &path);

} // namespace lathe::jobs
