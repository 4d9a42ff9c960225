#include "report/PagePairs.h"

#include <algorithm>
#include <cmath>

namespace lathe::report {

using nlohmann::json;

static constexpr auto &statistics = lab::shownStatistics;
static constexpr size_t statisticCount = std::size(statistics);

/// The last digits of `value` to the base of 64.
static std::string digitsOf(int64_t value, int count) {
  static constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text(size_t(count), 'A');
  for (int i = count; i-- > 0; value /= 64)
    text[size_t(i)] = letters[size_t(value % 64)];
  return text;
}

/// A ratio as four digits: its logarithm to the base of 2, from -32 to 32, in steps of 1/2^18.
static std::string ratioDigits(double logarithm) {
  return digitsOf(std::llround(std::clamp((logarithm + 32) * 0x1p18, 0.0, 0x1p24 - 1)), 4);
}
/// A distance of two logarithms as three digits: its root, so that small ones are precise.
static std::string distanceDigits(double distance) {
  double root = std::copysign(std::sqrt(std::min(std::abs(distance), 32.0) / 32), distance);
  return digitsOf(std::llround(root * (0x1p17 - 1)) + 0x20000, 3);
}

/// The verdict of one direction as a number below 7, in the order of `verdicts` of report/page/src/data/judged.ts.
static int64_t verdictNumber(const lab::JudgedRatio &judged, bool disturbed) {
  if (judged.verdict != lab::Verdict::ambiguous)
    return int64_t(judged.verdict);
  return judged.withinOverhead ? 3 : judged.tooFewStarts ? 4 : disturbed ? 5 : 6;
}

/// "A" for a range of too few starts, which has no verdict, else the verdicts in both directions; then the ratio of the
/// first point's time to the second's, and how far the ends of its interval are.
std::string PagePairs::judgedText(uint32_t first, const lab::SideTimes &top, uint32_t second,
                                  const lab::SideTimes &bottom) const {
  const Timing &above = points[first].timing, &below = points[second].timing;
  lab::JudgedRatio judged = judgeTimes(above, top, below, bottom);
  bool disturbed = above.disturbed || below.disturbed;
  int64_t verdicts = 0;
  if (!judged.ratio.isRange)
    verdicts =
        1 + 7 * verdictNumber(judged, disturbed) + verdictNumber(judgeTimes(below, bottom, above, top), disturbed);
  // No time is shorter than the clock's step; a statistic that is 0 all the same makes no infinite ratio.
  auto logarithm = [](double ratio) { return std::clamp(std::log2(std::max(ratio, 0x1p-32)), -32.0, 32.0); };
  double ratio = logarithm(judged.ratio.ratio);
  return digitsOf(verdicts, 1) + ratioDigits(ratio) + distanceDigits(ratio - logarithm(judged.ratio.interval.low)) +
         distanceDigits(logarithm(judged.ratio.interval.high) - ratio);
}

PagePairs::Needs PagePairs::needsOf(const std::vector<uint32_t> &members, const std::set<std::string> &named,
                                    const Sides &sides) const {
  constexpr size_t few = 12; // scheduled columns, each of which is a baseline then: a search may hide faster ones
  std::set<std::string_view> scheduled;
  for (uint32_t point : members)
    scheduled.insert(points[point].scheduledColumn);
  auto isOld = [&](uint32_t point) { return !points[point].isCurrent; };
  bool anyOld = std::any_of(members.begin(), members.end(), isOld);
  Needs needs;
  for (size_t statistic = 0; statistic < statisticCount; ++statistic)
    for (bool withOld : {false, true}) {
      if (withOld && !anyOld)
        continue;
      std::map<std::array<uint32_t, 4>, uint32_t> fastest; // by column, and setting or 0
      auto shown = [&](uint32_t member) { return withOld || points[members[member]].isCurrent; };
      auto consider = [&](uint32_t member, uint32_t setting) {
        auto &[platform, provider, variant] = points[members[member]].column;
        auto [place, isNew] = fastest.try_emplace({platform, provider, variant, setting}, member);
        if (!isNew && sides[member][statistic].whole < sides[place->second][statistic].whole)
          place->second = member;
      };
      for (uint32_t member = 0; member < members.size(); ++member) {
        const PagePoint &point = points[members[member]];
        if (!shown(member))
          continue;
        consider(member, 0);
        if (scheduled.size() <= few || named.contains(point.scheduledColumn))
          consider(member, point.setting + 1);
      }
      for (auto &[key, base] : fastest)
        for (uint32_t member = 0; member < members.size(); ++member)
          if (member != base && shown(member))
            needs[std::minmax(base, member)] |= uint8_t(1 << statistic);
    }
  return needs;
}

json PagePairs::document(const std::function<lab::Starts(size_t)> &startsOf) const {
  struct Group {
    std::vector<uint32_t> members;
    std::set<std::string> named;
  };
  std::map<std::array<uint32_t, 3>, Group> groups;
  std::map<std::string, Group> sweeps; // by experiment
  for (uint32_t i = 0; i < points.size(); ++i) {
    const PagePoint &point = points[i];
    Group &group = groups[point.group];
    if (!point.sameAs.empty())
      group.named.insert(point.sameAs);
    if (!point.counts)
      continue;
    group.members.push_back(i);
    if (point.inSweep)
      sweeps[point.timing.experiment].members.push_back(i);
  }
  std::vector<std::map<uint32_t, std::array<std::string, statisticCount>>> judged(points.size()); // by both points
  auto judge = [&](Group &group, bool isSweep) {
    const std::vector<uint32_t> &members = group.members;
    if (members.size() < 2)
      return;
    Sides sides;
    for (uint32_t point : members)
      sides.push_back(lab::timesBy(startsOf(point), statistics));
    Needs needs;
    group.named.insert(baseline.substr(0, baseline.rfind('@')));
    if (!isSweep)
      needs = needsOf(members, group.named, sides);
    else
      for (uint32_t member = 1; member < members.size(); ++member)
        needs[{0, member}] = (1 << statisticCount) - 1;
    for (auto &[pair, bits] : needs)
      for (size_t i = 0; i < statisticCount; ++i)
        if (std::string &text = judged[members[pair.first]][members[pair.second]][i]; bits >> i & 1 && text.empty())
          text = judgedText(members[pair.first], sides[pair.first][i], members[pair.second], sides[pair.second][i]);
  };
  for (auto &[key, group] : groups)
    judge(group, false);
  for (auto &[key, group] : sweeps)
    judge(group, true);
  std::vector<uint32_t> partners, distances;
  std::array<std::string, statisticCount> texts;
  for (uint32_t i = 0; i < points.size(); ++i) {
    partners.push_back(uint32_t(judged[i].size()));
    for (auto &[partner, ofStatistics] : judged[i]) {
      distances.push_back(partner - i);
      for (size_t statistic = 0; statistic < statisticCount; ++statistic)
        texts[statistic] += ofStatistics[statistic].empty() ? "." : ofStatistics[statistic];
    }
  }
  json ofStatistics = json::object();
  for (size_t i = 0; i < statisticCount; ++i)
    ofStatistics[statistics[i].name] = texts[i];
  return {{"partners", packed(partners)}, {"distances", packed(distances)}, {"judged", ofStatistics}};
}

} // namespace lathe::report
