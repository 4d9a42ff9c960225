// Where a curve of times along one resource changes its slope.
#pragma once

#include "report/Rows.h"

#include <span>

namespace lathe::report {

/// Two lines that meet, fitted to points by least squares: y = height + before * (x - at) left of `at`, with `after`
/// right of it.
struct TwoSegments {
  double at = 0, height = 0;
  double before = 0, after = 0; // slopes
  double squares = 0;           // sum of the squared distances
  double lineSquares = 0;       // of the one line that fits best, whose slope is:
  double lineSlope = 0;
  /// Whether two lines say more than one, by Schwarz's criterion: n log(squares / n) + parameters * log(n), a point's
  /// distance never counting as less than 0.001 (of a time's logarithm: no time is known better).
  bool breaks = false;
};

/// The best of all continuous fits of two segments, the meeting point anywhere between the second point and the last
/// but one (Hudson, "Fitting segmented curves whose join points have to be estimated", 1966). x ascends strictly. None
/// for fewer than five points: any four are two segments.
std::optional<TwoSegments> fitTwoSegments(std::span<const double> x, std::span<const double> y);

/// The first value of x (threads, ascending) from which each thread more, up to the next value, gains less than `gain`
/// of speed; none where there is none.
std::optional<double> lastWorthwhile(std::span<const double> x, std::span<const double> seconds, double gain = 0.1);

struct Curve {
  std::string resource; // "threads", "batch", "x[0]", "x[1]=w[1]": operands' extents
  std::string context;  // all that stays the same
  std::vector<double> x, seconds;
};

/// All curves of at least three points (two along threads): of one column and schedule along threads, along the batch
/// of a setting, and along one extent of otherwise equal problems (one that several axes share and change together is
/// one: the channels of input and weights).
std::vector<Curve> curves(const std::vector<Row> &rows);

struct Turning {
  Curve curve;
  std::optional<TwoSegments> fit; // in natural logarithms
  std::optional<double> threads;  // lastWorthwhile, along threads
};
std::vector<Turning> turningPoints(const std::vector<Row> &rows);

nlohmann::json toJson(const Turning &turning);

} // namespace lathe::report
