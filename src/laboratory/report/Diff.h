// Differences of two sets of measurements, point by point.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

struct DiffPoint {
  const Row *before = nullptr, *after = nullptr;  // the point in each set; null: the point is in the other set only
  std::optional<lab::RatioEstimate> speed;        // ratio of times, before / after, if both rows count
  lab::Verdict verdict = lab::Verdict::ambiguous; // verdict on the time `after`; ambiguous without a speed
  bool tooFewStarts = false; // there are so few process starts that no verdict can be faster or slower
  std::string because;       // why `verdict` is ambiguous (lab::ambiguityOf)
  /// True if the point passed before, and now neither passed nor is `sameAs`. A point that the provider declines now
  /// counts as broken.
  bool broke() const;
  bool statusChanged() const { return before && after && before->status != after->status; }
};

struct Diff {
  std::vector<DiffPoint> points; // points in the order of `before`, then points that are only in `after`
  size_t faster = 0, slower = 0, same = 0, ambiguous = 0, onlyBefore = 0, onlyAfter = 0;
  size_t tooFewStarts = 0;                         // number of points with too few process starts for a verdict
  std::optional<lab::RatioEstimate> geometricMean; // geometric mean of DiffPoint::speed over the points
};

/// Compares points of two sets with equal operator, problem, provider, variant and setting, from any machine and kind
/// of experiment. Of several points with one key the last one counts. The two sets were not measured in turns, so the
/// ratio includes all other changes between them, and faster or slower need six process starts of each side
/// (lab::leastStartsApart). `band`: see lab::verdictOn.
Diff diff(const std::vector<Row> &before, const std::vector<Row> &after, double band = lab::indifference);

/// A rule of --fail-on, which says which points of a diff make the command fail: "slower:3%" (with certainty and by
/// more than 3 %; "slower": by more than the band), "failed" (passed before, not now), "missing" (only before).
struct FailRule {
  enum class Kind { slower, failed, missing } kind = Kind::slower;
  double atLeast = 0; // for Kind::slower: smallest slowdown, as a share of the time before

  /// Parses the text of a rule. Throws Error with the valid forms for any other text.
  static FailRule parse(const std::string &text);
  bool holds(const DiffPoint &point) const;
  /// Throws Error if the rule would never apply: it needs a verdict that no point of `diff` can have, although both
  /// sides have times.
  void requireDecidable(const Diff &diff) const;
};

nlohmann::json toJson(const Diff &diff);

} // namespace lathe::report
