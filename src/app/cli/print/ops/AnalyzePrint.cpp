#include "cli/print/ops/AnalyzePrint.h"

#include "cli/print/ops/AnalyzeTables.h"
#include "lab/judging/Statistics.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace lathe::cli {
namespace {

using nlohmann::json;
using report::Row;

int64_t countOf(size_t count) { return static_cast<int64_t>(count); }

/// Counts as text: "3 passed, 1 failed". The most frequent comes first; rare ones are counted together.
std::string countsText(const std::map<std::string, size_t> &counts, size_t most = 4) {
  std::vector<std::pair<std::string, size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (size_t i = 0; i < sorted.size() && i < most; ++i)
    words.push_back(fmt::format("{} {}", sorted[i].second, sorted[i].first));
  if (sorted.size() > most)
    words.push_back(counted(countOf(sorted.size() - most), "other"));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string storeSummary(const std::string &path, const std::vector<Row> &rows) {
  std::set<std::string> problems, platforms;
  std::map<std::string, size_t> providers, kinds, statuses;
  std::string first, last;
  for (const Row &row : rows) {
    problems.insert(row.op + " " + row.problem);
    platforms.insert(row.platform);
    ++providers[row.provider];
    ++kinds[std::string(name(row.kind))];
    ++statuses[std::string(shownName(row.status))];
    first = first.empty() ? row.measured : std::min(first, row.measured);
    last = std::max(last, row.measured);
  }
  return fmt::format("{}: {} of {} on {}, measured {}{}\n  status     {}\n  providers  {}\n  kinds      {}\n", path,
                     counted(countOf(rows.size()), "point"), counted(countOf(problems.size()), "problem"),
                     counted(countOf(platforms.size()), "platform"), first.substr(0, 10),
                     first.substr(0, 10) == last.substr(0, 10) ? "" : " to " + last.substr(0, 10), countsText(statuses),
                     countsText(providers), countsText(kinds)) +
         report::unverifiedNote(rows);
}

std::string summaryOf(const std::vector<report::RooflineShare> &shares) {
  std::vector<double> known;
  for (auto &share : shares)
    if (share.limit)
      known.push_back(share.limit->share * 100);
  if (known.empty())
    return fmt::format("{}; the ceilings of their machine are not known (run `lathe machine` there)",
                       counted(countOf(shares.size()), "point"));
  auto [least, most] = std::minmax_element(known.begin(), known.end());
  return fmt::format("median {:.0f} % of the roofline, {:.0f} to {:.0f} % ({})", lab::median(known), *least, *most,
                     counted(countOf(known.size()), "point"));
}

std::string summaryOf(const std::vector<report::Counted> &entries) {
  std::vector<double> busy, perCycle;
  for (auto &entry : entries) {
    busy.push_back(*entry.row->processors);
    if (entry.instructionsPerCycle)
      perCycle.push_back(*entry.instructionsPerCycle);
  }
  std::string text = fmt::format("median {:.2f} processors busy", lab::median(busy));
  if (!perCycle.empty())
    text += fmt::format(", {:.2f} instructions a cycle", lab::median(perCycle));
  return text + fmt::format(" ({})", counted(countOf(entries.size()), "point"));
}

std::string summaryOf(const report::Speedups &speedups) {
  const report::SpeedupSummary *widest = nullptr;
  for (auto &summary : speedups.summaries)
    if (!widest || summary.problems > widest->problems)
      widest = &summary;
  std::string text = counted(countOf(speedups.rows.size()), "point");
  if (widest)
    text += fmt::format("; {} ({}): {:.3f} over {}", widest->column, widest->setting, widest->geometricMean.ratio,
                        counted(countOf(widest->problems), "problem"));
  return text;
}

std::string summaryOf(const std::vector<report::Best> &best) {
  std::map<std::string, size_t> providers;
  size_t clear = 0;
  for (auto &entry : best) {
    ++providers[entry.row->provider];
    clear += !entry.second || entry.verdict == lab::Verdict::faster;
  }
  return fmt::format("of {}: {}; {} beyond doubt or alone", counted(countOf(best.size()), "row"), countsText(providers),
                     clear);
}

std::string summaryOf(const report::ScheduleGains &gains) {
  size_t better = 0;
  double most = 1;
  for (auto &gain : gains.rows)
    if (!gain.isDefault()) {
      better += gain.verdict == lab::Verdict::faster;
      most = std::max(most, gain.ratio.ratio);
    }
  return fmt::format("another schedule is faster than the default in {} of {}; at most {:.3f} times as fast", better,
                     counted(countOf(gains.rows.size()), "row"), most);
}

std::string summaryOf(const std::vector<const Row *> &failed) {
  std::map<std::string, size_t> statuses;
  for (const Row *row : failed)
    ++statuses[std::string(shownName(row->status))];
  return countsText(statuses);
}

std::string summaryOf(const std::vector<report::Estimate> &estimates) {
  const report::Estimate &first = estimates.front();
  std::string text = fmt::format("{} ms ({}, {})", millisecondsText(first.seconds),
                                 first.provider.empty() ? "the fastest of each" : first.provider, first.context);
  if (first.measuredSeconds)
    text += fmt::format(", measured {} ms", millisecondsText(*first.measuredSeconds));
  return text +
         (estimates.size() > 1 ? fmt::format("; {} in all", counted(countOf(estimates.size()), "estimate")) : "");
}

std::string summaryOf(const std::vector<report::Account> &accounts) {
  const report::Account &first = accounts.front();
  return fmt::format("estimated {} ms, measured {} ms ({})", millisecondsText(first.estimated()),
                     millisecondsText(first.measured), first.context);
}

std::string summaryOf(const std::vector<report::ConvTable> &tables) {
  double sum = 0;
  for (auto &line : tables.front().lines)
    sum += line.total;
  return fmt::format("{}, {} ms together ({})", counted(countOf(tables.front().lines.size()), "shape"),
                     millisecondsText(sum), tables.front().context);
}

std::string summaryOf(const std::vector<report::Correlation> &correlations) {
  const report::Correlation *strongest = nullptr;
  for (auto &c : correlations)
    if (c.spearman && (!strongest || std::abs(*c.spearman) > std::abs(*strongest->spearman) ||
                       (std::abs(*c.spearman) == std::abs(*strongest->spearman) && c.points > strongest->points)))
      strongest = &c;
  std::string text = counted(countOf(correlations.size()), "pair");
  if (strongest)
    text += fmt::format("; the strongest: {} with {} ({:.2f} over {})", strongest->context, strongest->feature,
                        *strongest->spearman, counted(countOf(strongest->points), "point"));
  return text;
}

std::string summaryOf(const report::TurningPoints &points) {
  auto turning = std::count_if(points.curves.begin(), points.curves.end(),
                               [](auto &t) { return t.measured.fit && t.measured.fit->breaks; });
  return fmt::format("{} of {} turn; the fastest changes {}", turning, counted(countOf(points.curves.size()), "curve"),
                     counted(countOf(points.measured.size()), "time"));
}

std::string summaryOf(const std::vector<report::SlowDown> &slowDowns) {
  auto most = std::max_element(slowDowns.begin(), slowDowns.end(),
                               [](auto &a, auto &b) { return a.judged.ratio.ratio < b.judged.ratio.ratio; });
  return fmt::format("{}; the largest slow-down is {:.3f}", counted(countOf(slowDowns.size()), "point"),
                     most->judged.ratio.ratio);
}

template <class Item> json figuresJson(const std::vector<Item> &items) {
  json list = json::array();
  for (const Item &item : items)
    list.push_back(toJson(item));
  return list;
}

json figuresJson(const report::Speedups &speedups) { return toJson(speedups); }

json figuresJson(const report::ScheduleGains &gains) { return toJson(gains); }

json figuresJson(const report::TurningPoints &points) { return toJson(points); }

json figuresJson(const std::vector<report::Best> &best) {
  return {{"points", figuresJson<report::Best>(best)}, {"counts", figuresJson(report::countBest(best))}};
}

json figuresJson(const std::vector<const Row *> &failed) {
  json points = json::array();
  for (const Row *row : failed)
    points.push_back(report::failedJson(*row));
  return points;
}

std::string titleOf(const Finding &finding) {
  static const std::map<std::string, const char *> titles = {{"roofline", "Share of the roofline"},
                                                             {"counters", "What the runs cost"},
                                                             {"best", "Fastest of each problem and setting"},
                                                             {"schedules", "Best schedule over the default"},
                                                             {"failed", "Points that failed"},
                                                             {"estimate", "Sum over the network's operators"},
                                                             {"account", "Where the network's time goes"},
                                                             {"table", "Convolutions by shape"},
                                                             {"correlation", "What the times follow"},
                                                             {"turning", "Turning points (slopes of logarithms)"},
                                                             {"company", "Slow-downs by company"}};
  if (const auto *speedups = std::get_if<report::Speedups>(&finding.figures))
    return "Speedup over " + speedups->baseline;
  return titles.at(finding.name);
}

} // namespace

std::string analyzedText(const Analyzed &analyzed, const AnalyzeJob &job, const std::string &store,
                         const TableStyle &style) {
  bool brief = job.what.empty();
  std::string text = brief ? storeSummary(store, analyzed.rows) : report::unverifiedNote(analyzed.rows), without;
  Table lines({textColumn("--what"), textColumn("in short").shrink(40)});
  for (const Finding &finding : analyzed.findings)
    if (!finding.reason.empty())
      without += fmt::format("  {:<12} {}\n", finding.name, finding.reason);
    else if (brief)
      lines.row({finding.name, std::visit([](const auto &figures) { return summaryOf(figures); }, finding.figures)});
    else
      text += fmt::format("{}\n\n{}\n", titleOf(finding), tablesOf(finding, style));
  if (lines.rowCount())
    text += "\n" + lines.str({style.width}) + "\n--what NAME,... shows the tables, --what all every one\n";
  return without.empty() ? text : text + "No figures:\n" + without;
}

json analyzedJson(const Analyzed &analyzed) {
  json document = {{"points", analyzed.rows.size()}};
  for (const Finding &finding : analyzed.findings)
    if (finding.reason.empty())
      document[finding.name] = std::visit([](const auto &figures) { return figuresJson(figures); }, finding.figures);
    else
      document["not_applicable"][finding.name] = finding.reason;
  return document;
}

} // namespace lathe::cli
