// Trends: the time of one problem over dates and commits of lathe, and the points where it changed.
#pragma once

#include "lab/judging/Statistics.h"
#include "store/Store.h"

#include <span>
#include <string>
#include <vector>

namespace lathe::report {

/// One measurement in a trend (TrendSeries).
struct Observation {
  std::string experiment, measured;     // uuid of the experiment; date and time in UTC
  std::string version, revision, build; // version, commit ("" if unknown) and build of lathe
  std::string platform;                 // key of the platform
  size_t samples = 0;
  double others = 0;          // share of the processors that other programs kept busy, 0 to 1
  double median = 0;          // median of all samples, in seconds
  lab::MedianEstimate spread; // median over the process starts, with its confidence interval
};

/// A step in a trend: a point in the series of observations where the times change.
struct ChangePoint {
  size_t index = 0; // index of the first observation after the change
  double ratio = 0; // median of the times after the change / median before it, up to the next and the previous change
  double p = 0;     // share of random orders of the same times that have an equally clear change
};

/// Measurements of one problem by one provider, variant and setting on one kind of machine, in experiments of one kind.
struct TrendSeries {
  std::string op, problem, provider, variant;
  store::ExperimentKind kind = store::ExperimentKind::ops;
  store::Setting setting; // "records" in its other settings is true where tuning records were used
  std::string cpu;
  std::vector<Observation> observations; // observations of the series, sorted by date
  std::vector<ChangePoint> changes;      // steps of the series, sorted by index
};

/// Finds the steps of a series by a permutation test (Antoch and Huskova, "Permutation tests in change point analysis",
/// 2001). A time's score is the difference of its logarithm from the median, limited to three robust standard
/// deviations (median absolute deviation / 0.6745), so that outliers have little weight. For each position the scores
/// before it are added, and the sum is divided by its standard deviation over all orders of the times. The position
/// with the largest value is a change if at most the share `level` of 1999 random orders has a value as large. Then
/// both parts are tested in the same way; each part has at least three observations. A series without a change gets one
/// with a probability of `level`, for any distribution of its noise. At a level of 0.01 a series of fewer than ten
/// observations has no change. Deterministic.
std::vector<ChangePoint> changePoints(std::span<const double> times, double level = 0.01);

/// Conditions that select trends. An empty text does not restrict.
struct TrendFilter {
  std::string text = {}; // substring of the problem's text, or the name of the operator
  store::Filter points = {};
};

/// The series of points that passed or are mistrusted and have a time above 0: of networks, then of problems, then of
/// kernels of profiles, each by the numbers in its text, then by provider, variant, kind of experiment, setting and
/// machine. A machine is its CPU, cores, hardware threads and memory: updates of its
/// system belong to the history.
///
/// The changes of a series are changePoints of the medians, except those that the spread of the observations may
/// explain. A change stays if the spreads of typical observations (medians of both ends) before and after it differ by
/// more than lab::indifference, with the low end of the slower ones times 1 - Observation::others. The reason: points
/// that were measured close in time share errors, which the test does not know.
std::vector<TrendSeries> trendsOf(store::Store &store, const TrendFilter &filter);

} // namespace lathe::report
