#include "report/Best.h"

#include "report/Speedup.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace lathe::report {

using nlohmann::json;
using store::PointStatus;

const Row *fastest(const std::vector<const Row *> &cell, const std::function<bool(const Row &)> &chosen) {
  const Row *best = nullptr;
  for (const Row *row : cell)
    if (row->counts() && (!chosen || chosen(*row)) && (!best || row->median < best->median))
      best = row;
  return best;
}

std::vector<Best> best(const std::vector<Row> &rows) {
  std::vector<Best> result;
  for (auto &cell : byCell(rows)) {
    const Row *first = fastest(cell);
    if (!first)
      continue;
    Best &entry = result.emplace_back();
    entry.row = first;
    entry.second = fastest(cell, [&](const Row &row) { return &row != first; });
    if (entry.second) {
      lab::JudgedRatio judged = judgeTimes(*entry.second, *first);
      entry.ratio = judged.ratio;
      entry.verdict = judged.verdict;
      entry.because = lab::ambiguityOf(judged, entry.second->disturbed || first->disturbed);
    }
  }
  return result;
}

std::vector<BestCount> countBest(const std::vector<Best> &best) {
  std::map<std::string, BestCount> counts;
  auto count = [&](const std::string &what, const Best &entry) {
    BestCount &to = counts[what];
    to.what = what;
    ++to.best;
    to.clearly += !entry.second || entry.verdict == lab::Verdict::faster;
  };
  for (const Best &entry : best) {
    count(columnOf(*entry.row), entry);
    const std::string &schedule = scheduleOf(*entry.row);
    if (!schedule.empty()) // parameters differ between problems
      count(columnOf(*entry.row) + " " + schedule.substr(0, schedule.find(' ')), entry);
  }
  std::vector<BestCount> sorted;
  for (auto &[what, entry] : counts)
    sorted.push_back(entry);
  std::sort(sorted.begin(), sorted.end(),
            [](auto &a, auto &b) { return std::tie(b.best, a.what) < std::tie(a.best, b.what); });
  return sorted;
}

std::vector<const Row *> failed(const std::vector<Row> &rows) {
  std::vector<const Row *> result;
  for (const Row &row : rows)
    if (row.verifiedHere() && row.status != PointStatus::passed && row.status != PointStatus::unimplemented &&
        row.status != PointStatus::sameAs)
      result.push_back(&row);
  return result;
}

json toJson(const Best &best) {
  json document = identityJson(*best.row);
  document["median_ms"] = best.row->median * 1e3;
  document["schedule"] = scheduleOf(*best.row);
  if (best.second) {
    document["second"] = columnOf(*best.second);
    document["second_median_ms"] = best.second->median * 1e3;
    document.update(toJson(best.ratio));
    document["verdict"] = name(best.verdict);
    document["ambiguous_because"] = best.because;
  }
  return document;
}

json toJson(const BestCount &count) { return {{"what", count.what}, {"best", count.best}, {"clearly", count.clearly}}; }

json failedJson(const Row &row) {
  json document = identityJson(row);
  document["status"] = name(row.status);
  document["reason"] = row.reason;
  document["repro"] = row.repro;
  return document;
}

} // namespace lathe::report
