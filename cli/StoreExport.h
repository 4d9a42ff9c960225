// Measurements in other programs' formats.
#pragma once

#include "lab/judging/Statistics.h"
#include "store/Store.h"

namespace lathe::cli {

/// Of all rounds together, in seconds (or, where `nanosecond` is 1, in those).
lab::Summary timeOf(const store::Point &point, double nanosecond = 1e-9);

/// Tables with a title line, as RFC 4180 has them: a row a point (times summed up over all rounds), or a row a sample.
/// Returns the number of rows.
size_t exportPointsCsv(store::Store &store, const store::Filter &filter, const std::string &path);
size_t exportSamplesCsv(store::Store &store, const store::Filter &filter, const std::string &path);

/// As Google Benchmark's --benchmark_format=json, so that its compare.py reads it: a repetition is a round, its
/// iterations are the round's samples, its time is their mean. `cpu_time` is 0 where it was not measured, hardware
/// counters are there where they were counted, under the names of --benchmark_perf_counters. Points
/// without a time have `error_occurred`. Throws Error when the points are of more than one platform: the format has one
/// context. Returns the number of points.
size_t exportBenchmarkJson(store::Store &store, const store::Filter &filter, const std::string &path);

} // namespace lathe::cli
