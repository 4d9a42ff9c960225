// Turning points: where a curve of times along one resource changes its slope.
#pragma once

#include "report/Rows.h"

#include <span>

namespace lathe::report {

/// Two lines that meet, fitted by least squares: y = height + slope * (x - at), with slope `before`
/// left of `at` and `after` right of it.
struct TwoSegments {
  double at = 0, height = 0;
  double before = 0, after = 0; // slopes left and right of `at`
  double squares = 0;           // sum of squared distances to the two lines
  double lineSquares = 0;       // sum of squared distances to the best single line
  double lineSlope = 0;         // slope of the best single line
  /// True if two lines describe the points better than one by Schwarz's criterion, n log(squares /
  /// n) + parameters * log(n). A point's distance counts as at least 0.001 (in the logarithm of the
  /// time), the accuracy of times.
  bool breaks = false;
};

/// Fits two segments that meet anywhere between the second and the second to last point (Hudson, "Fitting segmented
/// curves whose join points have to be estimated", 1966). x must be strictly ascending. Returns nothing for fewer than
/// five points, because two segments fit any four points.
std::optional<TwoSegments> fitTwoSegments(std::span<const double> x, std::span<const double> y);

/// Returns the largest worthwhile number of threads: the first x[i] after which the speed grows by less than the share
/// `gain` per added thread, up to x[i + 1]; later points do not count. Nothing if there is none. `x` (numbers of
/// threads) is ascending.
std::optional<double> lastWorthwhile(std::span<const double> x, std::span<const double> seconds, double gain = 0.1);

struct Curve {
  std::string resource; // what grows along x: "threads", "batch", or extents of operands, "x[0]", "x[1]=w[1]"
  /// Everything that is constant along the curve (operator, provider, setting), as text.
  std::string context;
  std::vector<double> x, seconds;
  std::vector<double> cycles; // by x: what the cost model expected; empty unless it is known at every x
  std::string column, rest;   // the two parts of `context`: provider, variant and schedule; everything else
};

/// Returns all curves of three points or more (along threads: two), each of one column and schedule: along threads,
/// along the batch of the setting, and along one extent of otherwise equal problems. Axes that share an extent and
/// change together count as one (the channels of input and weights).
std::vector<Curve> curves(const std::vector<Row> &rows);

/// Where a curve turns.
struct Turn {
  std::optional<TwoSegments> fit; // two lines through the logarithms of x and y
  std::optional<double> threads;  // result of lastWorthwhile, for curves along threads
};
struct Turning {
  Curve curve;
  Turn measured;
  std::optional<Turn> predicted; // of the cost model's cycles, if they are known
};

/// Two neighbouring points of curves of several columns, all else being equal, at which different columns are fastest.
struct Crossing {
  std::string resource, rest;   // as in Curve
  double before = 0, after = 0; // along the resource
  std::string from, to;         // columns that are fastest at `before` and at `after`
};
/// Compares curves at every x that at least two of them have. `predicted`: by the cost model's cycles instead of
/// times, where they are known.
std::vector<Crossing> crossings(const std::vector<Curve> &curves, bool predicted);

struct TurningPoints {
  std::vector<Turning> curves;
  std::vector<Crossing> measured, predicted;
};
TurningPoints turningPoints(const std::vector<Row> &rows);

nlohmann::json toJson(const TurningPoints &points);

} // namespace lathe::report
