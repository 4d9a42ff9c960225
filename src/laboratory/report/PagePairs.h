// The judgements of a page: verdicts on the pairs of points that the page can show, by each of its statistics.
#pragma once

#include "report/PageColumns.h"
#include "report/Rows.h"

#include <functional>
#include <set>

namespace lathe::report {

/// What decides which points a point of the page is compared with.
struct PagePoint {
  Timing timing;
  std::array<uint32_t, 3> group;  // kind, problem and setting without schedule: compared on all platforms
  std::array<uint32_t, 3> column; // platform, provider and variant
  uint32_t setting = 0;           // with its schedule
  std::string scheduledColumn;    // scheduledColumnOf
  std::string sameAs;             // the scheduled column whose time stands for the point's; "": none
  bool counts = false;            // Row::counts
  bool isCurrent = true;          // false: measured again later, which the page hides at first
  bool inSweep = false;           // of `lathe sweep`, whose points are compared with the first one
};

class PagePairs {
public:
  std::vector<PagePoint> points;
  std::string baseline; // PageHeader::baseline

  /// Judges each pair of a point and a point that may be its baseline: the fastest one of a column, of a column with a
  /// schedule where a group has few of them, and the first one of a sweep. `startsOf` returns the times of a point.
  ///
  /// {"partners": for each point the number of its pairs with later points, "distances": how much later each of them stands,
  /// "judged": texts by statistic (judgedText), one behind the other}
  nlohmann::json document(const std::function<lab::Starts(size_t)> &startsOf) const;

private:
  /// Bits of statistics by indices of two members of a group, the smaller one first.
  using Needs = std::map<std::pair<uint32_t, uint32_t>, uint8_t>;
  using Sides = std::vector<std::vector<lab::SideTimes>>; // by member and statistic
  Needs needsOf(const std::vector<uint32_t> &members, const std::set<std::string> &named, const Sides &sides) const;
  std::string judgedText(uint32_t first, const lab::SideTimes &top, uint32_t second,
                         const lab::SideTimes &bottom) const;
};

} // namespace lathe::report
