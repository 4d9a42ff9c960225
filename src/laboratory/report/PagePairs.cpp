#include "report/PageColumns.h"

#include <algorithm>
#include <cmath>

namespace lathe::report {

using nlohmann::json;

static constexpr auto &statistics = lab::shownStatistics;

/// The ratio of the first point's time to the second's, as report/page/src/data/judged.ts reads it.
namespace {
struct Judgement {
  uint8_t verdicts = 0;       // 0: a range of too few starts, else 1 + 7 * (first to second) + (second to first)
  uint16_t ratio = 0;         // above the ratio of the points' times (coded)
  uint16_t low = 0, high = 0; // below and above the ratio
};
} // namespace

/// The distance of two logarithms to the base of 2 as 16 bits: a sign, and its own logarithm from -20 on in steps of
/// 1 / 1300, which is precise to 0.03 %. A distance below 1e-6 is 0.
static uint16_t coded(double distance) {
  double steps = (std::log2(std::abs(distance)) + 20) * 1300;
  if (!(steps >= 0))
    return 0;
  return uint16_t((std::signbit(distance) ? 0x8000 : 0) + 1 + std::lround(std::min(steps, 0x7ffe * 1.0)));
}

/// The verdict in one direction as a number below 7: an index into `verdicts` of judged.ts.
static int verdictNumber(const lab::JudgedRatio &judged, bool disturbed) {
  if (judged.verdict != lab::Verdict::ambiguous)
    return int(judged.verdict);
  return judged.withinOverhead ? 3 : judged.tooFewStarts ? 4 : disturbed ? 5 : 6;
}

static Judgement judge(const Timing &above, const lab::SideTimes &top, const Timing &below,
                       const lab::SideTimes &bottom) {
  lab::JudgedRatio judged = judgeTimes(above, top, below, bottom);
  auto [ratio, interval, isRange] = judged.ratio;
  bool disturbed = above.disturbed || below.disturbed;
  int verdicts = isRange ? 0
                         : 1 + 7 * verdictNumber(judged, disturbed) +
                               verdictNumber(judgeTimes(below, bottom, above, top), disturbed);
  return {uint8_t(verdicts), coded(std::log2(ratio * bottom.whole / top.whole)), coded(std::log2(ratio / interval.low)),
          coded(std::log2(interval.high / ratio))};
}

PagePairs::Pairs PagePairs::pairsOf(const std::vector<uint32_t> &members, const std::set<std::string> &named,
                                    const Sides &sides) const {
  constexpr size_t few =
      12; // a filter may hide faster points of a column: of few points and schedules all are compared
  Pairs pairs;
  if (members.size() <= few) {
    for (uint32_t second = 1; second < members.size(); ++second)
      for (uint32_t first = 0; first < second; ++first)
        pairs.emplace(first, second);
    return pairs;
  }
  std::set<std::string_view> scheduled;
  for (uint32_t point : members)
    scheduled.insert(points[point].scheduledColumn);
  for (size_t statistic = 0; statistic < std::size(statistics); ++statistic)
    for (bool withOld : {false, true}) {
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
            pairs.insert(std::minmax(base, member));
    }
  return pairs;
}

/// Judgements by both points and statistic.
using Judged = std::map<std::pair<uint32_t, uint32_t>, std::array<Judgement, std::size(statistics)>>;

static json columnsOf(const Judged &judged, size_t points) {
  std::vector<uint32_t> partners(points), others;
  for (auto &[pair, ofStatistics] : judged) {
    ++partners[pair.first];
    others.push_back(pair.second);
  }
  json byStatistic = json::object();
  for (size_t i = 0; i < std::size(statistics); ++i) {
    auto column = [&](auto Judgement::*member) {
      std::vector<std::remove_reference_t<decltype(Judgement().*member)>> values;
      for (auto &[pair, ofStatistics] : judged)
        values.push_back(ofStatistics[i].*member);
      return packed(values);
    };
    byStatistic[statistics[i].name] = {{"verdicts", column(&Judgement::verdicts)},
                                       {"ratios", column(&Judgement::ratio)},
                                       {"lows", column(&Judgement::low)},
                                       {"highs", column(&Judgement::high)}};
  }
  return {{"partners", packed(partners)}, {"others", packed(others)}, {"judged", byStatistic}};
}

json PagePairs::document(const std::function<lab::Starts(size_t)> &startsOf) const {
  struct Group {
    std::vector<uint32_t> members;
    std::set<std::string> named;
  };
  std::map<std::array<uint32_t, 3>, Group> groups;
  std::map<std::string, Group> sweeps;                                                    // by experiment
  std::map<std::pair<std::array<uint32_t, 3>, std::array<uint32_t, 3>>, Group> companies; // by `alone` and column
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
    if (point.inCompany)
      companies[{point.alone, point.column}].members.push_back(i);
  }
  for (uint32_t i = 0; i < points.size(); ++i)
    if (auto found = companies.find({points[i].alone, points[i].column});
        found != companies.end() && points[i].counts && !points[i].inCompany)
      found->second.members.insert(found->second.members.begin(), i);
  std::erase_if(companies, [&](auto &entry) { return points[entry.second.members.front()].inCompany; });
  Judged judged;
  auto judgeGroup = [&](Group &group, bool withFirst) {
    const std::vector<uint32_t> &members = group.members;
    if (members.size() < 2)
      return;
    Sides sides;
    for (uint32_t point : members)
      sides.push_back(lab::timesBy(startsOf(point), statistics));
    Pairs pairs;
    group.named.insert(baseline.substr(0, baseline.rfind('@')));
    if (!withFirst)
      pairs = pairsOf(members, group.named, sides);
    else
      for (uint32_t member = 1; member < members.size(); ++member)
        pairs.emplace(0, member);
    for (auto [first, second] : pairs) {
      if (members[first] > members[second])
        std::swap(first, second);
      if (auto [place, isNew] = judged.try_emplace({members[first], members[second]}); isNew)
        for (size_t i = 0; i < std::size(statistics); ++i)
          place->second[i] =
              judge(points[members[first]].timing, sides[first][i], points[members[second]].timing, sides[second][i]);
    }
  };
  for (auto &[key, group] : groups)
    judgeGroup(group, false);
  for (auto &[key, group] : sweeps)
    judgeGroup(group, true);
  for (auto &[key, group] : companies)
    judgeGroup(group, true);
  return columnsOf(judged, points.size());
}

} // namespace lathe::report
