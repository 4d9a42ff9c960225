#include "report/Diff.h"

#include "report/Speedup.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace lathe::report {

using nlohmann::json;
using store::PointStatus;

bool DiffPoint::broke() const {
  return before && after && before->status == PointStatus::passed && after->verifiedHere() &&
         after->status != PointStatus::passed && after->status != PointStatus::sameAs;
}

static std::string matchKey(const Row &row) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", row.op, row.problem, row.provider, row.variant, row.setting.key());
}

/// The last measured row of each key, in order.
static std::pair<std::vector<const Row *>, std::map<std::string, size_t>> lastOf(const std::vector<Row> &rows) {
  std::vector<const Row *> kept;
  std::map<std::string, size_t> places;
  for (const Row &row : rows) {
    auto [place, isNew] = places.try_emplace(matchKey(row), kept.size());
    if (isNew)
      kept.push_back(&row);
    else if (row.measured >= kept[place->second]->measured)
      kept[place->second] = &row;
  }
  return {kept, places};
}

Diff diff(const std::vector<Row> &before, const std::vector<Row> &after, double band) {
  Diff result;
  auto [olds, oldPlaces] = lastOf(before);
  auto [news, newPlaces] = lastOf(after);
  std::vector<double> speeds;
  for (const Row *old : olds) {
    DiffPoint &point = result.points.emplace_back();
    point.before = old;
    auto found = newPlaces.find(matchKey(*old));
    if (found == newPlaces.end()) {
      ++result.onlyBefore;
      continue;
    }
    point.after = news[found->second];
    if (!old->counts() || !point.after->counts())
      continue;
    lab::JudgedRatio judged = judgeTimes(*old, *point.after, band);
    point.speed = judged.ratio;
    point.verdict = judged.verdict;
    point.tooFewStarts = judged.tooFewStarts;
    point.because = lab::ambiguityOf(judged, old->disturbed || point.after->disturbed);
    result.tooFewStarts += judged.tooFewStarts;
    speeds.push_back(point.speed->ratio);
    result.faster += point.verdict == lab::Verdict::faster;
    result.slower += point.verdict == lab::Verdict::slower;
    result.same += point.verdict == lab::Verdict::same;
    result.ambiguous += point.verdict == lab::Verdict::ambiguous;
  }
  for (const Row *row : news)
    if (!oldPlaces.count(matchKey(*row))) {
      result.points.emplace_back().after = row;
      ++result.onlyAfter;
    }
  if (!speeds.empty())
    result.geometricMean = lab::geometricMean(speeds);
  return result;
}

FailRule FailRule::parse(const std::string &text) {
  static constexpr const char *expected = "'{}': expected slower, slower:3%, failed or missing";
  size_t colon = text.find(':');
  std::string word = text.substr(0, colon);
  FailRule rule;
  if (word == "slower")
    rule.kind = Kind::slower;
  else if (word == "failed")
    rule.kind = Kind::failed;
  else if (word == "missing")
    rule.kind = Kind::missing;
  else
    fail(expected, text);
  if (colon == text.npos)
    return rule;
  char *end = nullptr;
  std::string number = text.substr(colon + 1);
  double percent = std::strtod(number.c_str(), &end);
  require(rule.kind == Kind::slower && end != number.c_str() && std::string_view(end) == "%" && percent >= 0 &&
              std::isfinite(percent),
          expected, text);
  rule.atLeast = percent / 100;
  return rule;
}

bool FailRule::holds(const DiffPoint &point) const {
  switch (kind) {
  case Kind::slower:
    return point.speed && point.verdict == lab::Verdict::slower && 1 / point.speed->ratio - 1 > atLeast;
  case Kind::failed:
    return point.broke();
  case Kind::missing:
    return point.before && !point.after;
  }
  return false;
}

void FailRule::requireDecidable(const Diff &diff) const {
  if (kind != Kind::slower || diff.tooFewStarts == 0)
    return;
  size_t most = 0;
  for (const DiffPoint &point : diff.points) {
    if (point.speed && !point.tooFewStarts)
      return;
    if (point.speed)
      most = std::max(most, std::min(startsOf(*point.before).size(), startsOf(*point.after).size()));
  }
  fail("expected points with {} starts on each side, which the verdict slower needs; got at most {}: measure with "
       "--starts {}",
       lab::leastStartsApart, most, lab::leastStartsApart);
}

json toJson(const Diff &diff) {
  json points = json::array();
  for (const DiffPoint &point : diff.points) {
    json document = identityJson(point.after ? *point.after : *point.before);
    auto side = [&](const char *name, const Row *row) {
      if (!row)
        return;
      document[name] = {{"status", store::name(row->status)}, {"reason", row->reason}};
      if (row->counts())
        document[name]["median_ms"] = row->median * 1e3;
    };
    side("before", point.before);
    side("after", point.after);
    if (point.speed) {
      document.update(toJson(*point.speed));
      document["verdict"] = name(point.verdict);
      document["too_few_starts"] = point.tooFewStarts;
      document["ambiguous_because"] = point.because;
    }
    points.push_back(std::move(document));
  }
  json document = {{"points", points},
                   {"faster", diff.faster},
                   {"slower", diff.slower},
                   {"same", diff.same},
                   {"ambiguous", diff.ambiguous},
                   {"only_before", diff.onlyBefore},
                   {"only_after", diff.onlyAfter},
                   {"too_few_starts", diff.tooFewStarts},
                   {"interleaved", false}};
  if (diff.geometricMean) {
    document["geometric_mean"] = diff.geometricMean->ratio;
    document["geometric_mean_low"] = diff.geometricMean->interval.low;
    document["geometric_mean_high"] = diff.geometricMean->interval.high;
    document["geometric_mean_is_range"] = diff.geometricMean->isRange;
  }
  return document;
}

} // namespace lathe::report
