// Two sets of measurements, point by point: before and after.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

struct DiffPoint {
  const Row *before = nullptr, *after = nullptr;  // one may be null: it is on the other side only
  std::optional<lab::RatioEstimate> speed;        // before's time / after's, where both count
  lab::Verdict verdict = lab::Verdict::ambiguous; // of `after`, where there is a speed
  /// Passed before and nothing of the kind now; declining counts, being the same as another variant does not.
  bool broke() const;
  bool statusChanged() const { return before && after && before->status != after->status; }
};

struct Diff {
  std::vector<DiffPoint> points; // in the order of `before`, then what is new
  size_t faster = 0, slower = 0, same = 0, ambiguous = 0, onlyBefore = 0, onlyAfter = 0;
  std::optional<lab::RatioEstimate> geometricMean; // of the speeds
};

/// Points match by operator, problem, provider, variant and setting, wherever and by whatever kind of experiment they
/// were measured. Of several of one key the last one counts. The sides were not measured in turns: what else changed
/// between them is in the ratio. `band`: as for lab::verdictOn.
Diff diff(const std::vector<Row> &before, const std::vector<Row> &after, double band = lab::indifference);

/// What makes a difference fail: "slower:3%" (beyond doubt and by more than that; "slower": by more than the band),
/// "failed" (passed before, not now), "missing" (only before).
struct FailRule {
  enum class Kind { slower, failed, missing } kind = Kind::slower;
  double atLeast = 0; // relative to the time before

  /// Throws Error with what is expected.
  static FailRule parse(const std::string &text);
  bool holds(const DiffPoint &point) const;
};

nlohmann::json toJson(const Diff &diff);

} // namespace lathe::report
