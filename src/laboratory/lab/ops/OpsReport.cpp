#include "lab/machine/Disturbance.h"
#include "lab/ops/OpsLab.h"
#include "store/Fields.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace lathe::lab {

using nlohmann::json;

static json toJson(const OpsPoint &point) {
  json document = {{"provider", point.provider},
                   {"variant", point.variant},
                   {"version", point.version},
                   {"status", std::string(name(point.status))}};
  if (!point.schedule.empty())
    document["schedule"] = point.schedule;
  if (!point.scheduleRun.empty()) {
    document["task"] = point.task;
    document["schedule_run"] = point.scheduleRun;
  }
  if (!point.company.empty())
    document["company"] = store::asJson(point.company);
  if (auto figures = point.figures(); !figures.empty())
    document["figures"] = figures;
  if (!point.reason.empty())
    document["reason"] = point.reason;
  if (!point.implementation.empty()) {
    document["implementation"] = point.implementation;
    document["prepare_ms"] = point.prepareSeconds * 1e3;
    document["relative_l2"] = point.relativeL2;
    document["max_difference"] = point.maxDifference;
  }
  if (point.callSeconds)
    document["call_us"] = *point.callSeconds * 1e6;
  document.update(timesToJson(point.time, point.rounds, point.counts));
  if (point.leftOut)
    document["left_out"] = true;
  if (!point.uncounted.empty())
    document["uncounted"] = point.uncounted;
  if (point.timed()) {
    SeriesCheck series = checkSeries(point.rounds);
    document["outlier_share"] = series.outlierShare;
    document["drift"] = series.drift;
    document["drifts"] = series.drifts;
  }
  return document;
}

json toJson(const OpsRow &row) {
  json points = json::array(), verdicts = json::array();
  for (auto &point : row.points)
    points.push_back(toJson(point));
  size_t rounds = std::accumulate(row.starts.begin(), row.starts.end(), size_t(0));
  bool disturbed = row.otherProcessors.value_or(0) > disturbingProcessors ||
                   double(row.slowRounds) > unreliableSlowShare * double(rounds);
  for (auto &verdict : row.verdicts) {
    json entry = {{"peer", verdict.peer},
                  {"ours", row.points[verdict.ours].variant},
                  {"theirs", row.points[verdict.theirs].variant},
                  {"decided_after_starts", verdict.decidedAfter},
                  {"verdict_alone", std::string(name(verdict.alone))}};
    entry.update(toJson(static_cast<const JudgedRatio &>(verdict), disturbed));
    verdicts.push_back(std::move(entry));
  }
  json slowDowns = json::array();
  for (auto &one : row.slowDowns) {
    json entry = {{"together", one.together}, {"alone", one.alone}, {"decided_after_starts", one.decidedAfter}};
    entry.update(toJson(static_cast<const JudgedRatio &>(one), disturbed));
    entry["verdict"] = name(turned(one.verdict)); // on the column in company
    slowDowns.push_back(std::move(entry));
  }
  const Problem &problem = row.listed.problem;
  json document = {{"operator", row.listed.kind},
                   {"text", row.listed.text},
                   {"problem", toJson(problem)},
                   {"canonical", problem.str()},
                   {"kind", problem.kind()},
                   {"gflop", problem.flops() * 1e-9},
                   {"gbyte", problem.bytes() * 1e-9},
                   {"name", row.listed.name},
                   {"suites", row.listed.suites},
                   {"count", row.listed.count},
                   {"threads", row.setting.threads},
                   {"cache", std::string(store::name(row.setting.cache))},
                   {"layout", name(row.setting.layout)},
                   {"starts", row.starts},
                   {"points", points},
                   {"verdicts", verdicts}};
  if (std::string resources = row.setting.resources.text(); !resources.empty()) {
    document["resources"] = resources;
    document["held"] = row.held;
  }
  if (!row.setting.beside.empty()) {
    document["slow_downs"] = slowDowns;
    document["cpus"] = row.setting.cpus.measured;
    document["beside_cpus"] = row.setting.cpus.beside;
  }
  if (row.otherProcessors)
    document["other_processors"] = *row.otherProcessors;
  if (row.stolenProcessors)
    document["stolen_processors"] = *row.stolenProcessors;
  document["slow_rounds"] = row.slowRounds;
  return document;
}

std::vector<OpsSummary> summarizeOps(const std::vector<json> &rows) {
  std::vector<OpsSummary> summaries;
  std::vector<double> logarithms; // summed, by summary
  auto count = [&](const std::string &kind, const json &row, const json &verdict) {
    OpsSummary of;
    of.kind = kind;
    of.peer = verdict.at("peer").get<std::string>();
    of.threads = row.at("threads");
    of.layout = row.value("layout", "any"); // rows of earlier versions state neither
    of.cache = row.value("cache", "hot");
    of.resources = row.value("resources", "");
    auto known = std::find_if(summaries.begin(), summaries.end(), [&](const OpsSummary &other) {
      return std::tie(of.kind, of.peer, of.threads, of.layout, of.cache, of.resources) ==
             std::tie(other.kind, other.peer, other.threads, other.layout, other.cache, other.resources);
    });
    auto at = size_t(known - summaries.begin());
    if (known == summaries.end()) {
      summaries.push_back(of);
      logarithms.push_back(0);
    }
    OpsSummary &summary = summaries[at];
    double ratio = verdict.at("ratio");
    auto word = verdict.at("verdict").get<std::string>();
    ++summary.rows;
    summary.faster += word == name(Verdict::faster);
    summary.slower += word == name(Verdict::slower);
    summary.same += word == name(Verdict::same);
    summary.ambiguous += word == name(Verdict::ambiguous);
    summary.slowerBeyond3 += word == name(Verdict::slower) && ratio < 1 / 1.03;
    if (verdict.value("within_overhead", false)) // rows of earlier versions lack it
      ++summary.withinOverhead;
    else
      logarithms[at] += std::log(ratio);
  };
  std::vector<std::string> kinds = {"all", "3x3", "1x1", "depthwise", "strided", "other"};
  for (auto &row : rows)
    if (auto kind = row.at("kind").get<std::string>(); std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      kinds.push_back(kind);
  for (auto &kind : kinds)
    for (auto &row : rows)
      if (kind == "all" || row.at("kind") == kind)
        for (auto &verdict : row.at("verdicts"))
          count(kind, row, verdict);
  for (size_t i = 0; i < summaries.size(); ++i)
    if (size_t rows = summaries[i].rows - summaries[i].withinOverhead)
      summaries[i].geometricMean = std::exp(logarithms[i] / double(rows));
  return summaries;
}

json toJson(const OpsSummary &summary) {
  json mean = summary.geometricMean ? json(*summary.geometricMean) : json();
  json document = {{"kind", summary.kind},
                   {"peer", summary.peer},
                   {"threads", summary.threads},
                   {"layout", summary.layout},
                   {"cache", summary.cache},
                   {"rows", summary.rows},
                   {"faster", summary.faster},
                   {"slower", summary.slower},
                   {"same", summary.same},
                   {"ambiguous", summary.ambiguous},
                   {"within_overhead", summary.withinOverhead},
                   {"slower_beyond_3_percent", summary.slowerBeyond3},
                   {"geometric_mean", mean}};
  if (!summary.resources.empty())
    document["resources"] = summary.resources;
  return document;
}

} // namespace lathe::lab
