#include "cli/print/ops/AnalyzeTables.h"

#include "cli/flags/Options.h"
#include "lab/problems/ProblemSyntax.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>

namespace lathe::cli {
namespace {

using report::Row;

/// The short text of a convolution, with its epilogue unless it is the usual relu; for other problems the full text.
std::string problemText(const lab::Problem &problem) {
  std::string text = lab::shortText(problem);
  bool usual = problem.epilogue.empty() || (problem.epilogue.size() == 1 && problem.epilogue[0] == "relu");
  if (problem.op == "conv" && !usual)
    text += fmt::format(" +{}", fmt::join(problem.epilogue, " +"));
  return text;
}

std::string problemCell(const Row &row) { return row.shape ? problemText(*row.shape) : row.op + " " + row.problem; }

TableColumn problemColumn() { return textColumn("problem").shrink(24); }
TableColumn providerColumn() { return textColumn("provider").shrink(12); }

std::string signedMs(double seconds) { return fmt::format("{:+.4f}", seconds * 1e3); }

std::string intervalCell(const lab::RatioEstimate &ratio) {
  return fmt::format("{:.3f} to {:.3f}{}", ratio.interval.low, ratio.interval.high, ratio.isRange ? " (range)" : "");
}

std::string number(const std::optional<double> &value, const char *otherwise = "") {
  return value ? fmt::format("{:.3f}", *value) : otherwise;
}

std::string textOf(const std::vector<report::RooflineShare> &shares, const TableStyle &style) {
  Table table({problemColumn(), providerColumn(), textColumn("setting").drop(1).shrink(8), numberColumn("", "ms"),
               numberColumn("GFLOPS"), numberColumn("GB/s").drop(3), numberColumn("FLOP/byte").drop(4),
               numberColumn("roofline"), textColumn("bound by").drop(2)});
  bool unknown = false;
  for (auto &share : shares) {
    unknown |= !share.limit;
    table.row({problemCell(*share.row), report::scheduledColumnOf(*share.row), report::contextText(*share.row),
               millisecondsText(share.row->median), fmt::format("{:.1f}", share.gflops),
               fmt::format("{:.2f}", share.gbytesPerSecond), fmt::format("{:.2f}", share.intensity),
               share.limit ? fmt::format("{:.0f} %", share.limit->share * 100) : "?",
               share.limit ? share.limit->bound : "?"});
  }
  return table.str(style) + (unknown
                                 ? "?: the ceilings are not known: measured on another machine, or `lathe machine` has "
                                   "not been run on this one\n"
                                 : "");
}

std::string textOf(const std::vector<report::Counted> &counted, const TableStyle &style) {
  Table table({problemColumn(), providerColumn(), textColumn("setting").drop(2).shrink(8), numberColumn("", "ms"),
               numberColumn("CPU", "ms").drop(4), numberColumn("processors"), numberColumn("instr./cycle").drop(1),
               numberColumn("GHz").drop(3), numberColumn("FLOP/cycle").drop(5), numberColumn("cache misses").drop(6)});
  bool hardware = false;
  auto cell = [](const std::optional<double> &value, int digits) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "";
  };
  for (auto &entry : counted) {
    hardware |= entry.row->cycles.has_value();
    table.row({problemCell(*entry.row), report::columnOf(*entry.row), report::contextText(*entry.row),
               millisecondsText(entry.row->median), millisecondsText(*entry.row->cpuSeconds),
               fmt::format("{:.2f}", *entry.row->processors), cell(entry.instructionsPerCycle, 2),
               cell(entry.row->gigahertz, 2), cell(entry.flopsPerCycle, 1), cell(entry.row->cacheMisses, 0)});
  }
  return table.str(style) + (hardware ? "" : "no hardware counters were kept: `lathe ops bench` says why\n");
}

std::string textOf(const report::Speedups &speedups, const TableStyle &style) {
  Table points({problemColumn(), textColumn("setting").drop(2).shrink(8), providerColumn(), numberColumn("", "ms"),
                numberColumn(speedups.baseline, "ms").drop(3), numberColumn("speedup"),
                textColumn("95 % interval").drop(1)});
  for (auto &speedup : speedups.rows)
    points.row({problemCell(*speedup.row), report::contextText(*speedup.row), report::scheduledColumnOf(*speedup.row),
                millisecondsText(speedup.row->median), millisecondsText(speedup.baseline->median),
                number(speedup.ratio.ratio), intervalCell(speedup.ratio)});
  Table summaries({providerColumn(), textColumn("setting").shrink(8), numberColumn("problems"),
                   numberColumn("geometric mean"), textColumn("95 % interval").drop(1)});
  for (auto &summary : speedups.summaries)
    summaries.row({summary.column, summary.setting, std::to_string(summary.problems),
                   number(summary.geometricMean.ratio), intervalCell(summary.geometricMean)});
  auto within = std::count_if(speedups.rows.begin(), speedups.rows.end(), [](auto &s) { return s.withinOverhead; });
  return points.str(style) + "\n" + summaries.str({style.width}) +
         (within ? fmt::format("{} left out of the means: the difference may be that of the calls' overhead\n",
                               counted(within, "row"))
                 : "");
}

/// The verdict as text: "faster", or "ambiguous (too few starts)".
std::string verdictCell(lab::Verdict verdict, const std::string &because) {
  return std::string(name(verdict)) + (because.empty() ? "" : fmt::format(" ({})", because));
}

std::string textOf(const std::vector<report::Best> &best, const TableStyle &style) {
  Table table({problemColumn(), textColumn("setting").drop(1).shrink(8), textColumn("fastest").shrink(12),
               textColumn("schedule").drop(4).shrink(16), numberColumn("", "ms"), textColumn("next").drop(3).shrink(12),
               numberColumn("next / fastest").drop(2), textColumn("verdict")});
  for (auto &entry : best)
    table.row({problemCell(*entry.row), report::contextText(*entry.row), report::columnOf(*entry.row),
               report::scheduleOf(*entry.row), millisecondsText(entry.row->median),
               entry.second ? report::columnOf(*entry.second) : "", entry.second ? number(entry.ratio.ratio) : "",
               entry.second ? verdictCell(entry.verdict, entry.because) : "alone"});
  Table counts({textColumn("fastest").shrink(24), numberColumn("times"), numberColumn("beyond doubt or alone")});
  for (auto &count : report::countBest(best))
    counts.row({count.what, std::to_string(count.best), std::to_string(count.clearly)});
  return table.str(style) + "\n" + counts.str({style.width});
}

std::string textOf(const report::ScheduleGains &gains, const TableStyle &style) {
  Table table({problemColumn(), textColumn("setting").drop(5).shrink(8), providerColumn(),
               numberColumn("schedules").drop(3), numberColumn("default", "ms").drop(4), numberColumn("best", "ms"),
               numberColumn("default / best"), textColumn("95 % interval").drop(6), textColumn("verdict").drop(1),
               textColumn("best schedule").drop(2).shrink(16)});
  for (auto &gain : gains.rows)
    table.row(
        {problemCell(*gain.best), report::contextText(*gain.best), report::columnOf(*gain.best),
         std::to_string(gain.schedules), millisecondsText(gain.standard->median), millisecondsText(gain.best->median),
         number(gain.ratio.ratio), gain.isDefault() ? "" : intervalCell(gain.ratio),
         gain.isDefault() ? "the default" : verdictCell(gain.verdict, gain.because), report::scheduleOf(*gain.best)});
  Table summaries({providerColumn(), textColumn("setting").drop(1).shrink(8), numberColumn("problems"),
                   numberColumn("better than the default"), numberColumn("geometric mean"),
                   textColumn("95 % interval").drop(2)});
  for (auto &summary : gains.summaries)
    summaries.row({summary.column, summary.setting, std::to_string(summary.problems), std::to_string(summary.better),
                   number(summary.geometricMean.ratio), intervalCell(summary.geometricMean)});
  return table.str(style) + "\n" + summaries.str({style.width});
}

std::string textOf(const std::vector<const Row *> &failed, const TableStyle &style) {
  std::string text;
  for (size_t i = 0; i < failed.size() && (style.rows == 0 || i < style.rows); ++i)
    text += fmt::format("{} {}, {}: {}: {}\n  {}\n", report::scheduledColumnOf(*failed[i]), problemCell(*failed[i]),
                        report::contextText(*failed[i]), name(failed[i]->status), failed[i]->reason, failed[i]->repro);
  if (style.rows && failed.size() > style.rows)
    text += fmt::format("... and {} more (--rows 0 shows all)\n", failed.size() - style.rows);
  return text;
}

std::string textOf(const std::vector<report::Estimate> &estimates, const TableStyle &style) {
  Table table({textColumn("setting").shrink(12), providerColumn(), numberColumn("operators").drop(2),
               numberColumn("without a time").drop(1), numberColumn("sum", "ms"), numberColumn("measured", "ms"),
               numberColumn("difference")});
  for (auto &estimate : estimates) {
    int64_t missing = 0;
    for (auto &part : estimate.missing)
      missing += part.count;
    table.row({estimate.context, estimate.provider.empty() ? "(fastest)" : estimate.provider,
               std::to_string(estimate.counted), missing ? std::to_string(missing) : "",
               millisecondsText(estimate.seconds),
               estimate.measuredSeconds ? millisecondsText(*estimate.measuredSeconds) : "not known",
               estimate.difference ? fmt::format("{:+.1f} %", *estimate.difference * 100) : ""});
  }
  std::string text = table.str(style);
  for (auto &estimate : estimates) // estimates of the fastest provider, without measured times
    if (estimate.provider.empty())
      for (auto &part : estimate.missing)
        text += fmt::format("without a time ({}): {} x {}\n", estimate.context, part.count, part.problem);
  return text;
}

std::string textOf(const std::vector<report::Account> &accounts, const TableStyle &style) {
  using store::CacheState;
  std::string text;
  for (auto &account : accounts) {
    Table table({problemColumn(), numberColumn("count"), numberColumn("hot", "ms").drop(4),
                 numberColumn("cold-constants", "ms").drop(5), numberColumn("cold", "ms").drop(6),
                 textColumn("taken").drop(3), numberColumn("estimate", "ms"), numberColumn("in the network", "ms"),
                 numberColumn("difference", "ms").drop(1)});
    double inProblems = 0, besides = 0;
    for (const report::AccountLine &line : account.lines) {
      auto alone = [&](CacheState state) {
        auto found = line.alone.find(state);
        return found == line.alone.end() ? std::string() : millisecondsText(found->second);
      };
      bool problem = !line.operators.empty();
      std::string what = problem ? "" : "in no problem: " + line.what;
      for (auto &one : line.operators)
        what += (what.empty() ? "" : " and ") + problemText(lab::Problem::parse(one.problem));
      (problem ? inProblems : besides) += line.inNetwork;
      table.row({what, std::to_string(line.count), alone(CacheState::hot), alone(CacheState::coldConstants),
                 alone(CacheState::cold), line.states(), problem ? millisecondsText(line.estimated) : "",
                 millisecondsText(line.inNetwork), signedMs(line.difference())});
    }
    Table sums({textColumn("").shrink(30), numberColumn("", "ms"), numberColumn("of the measured")});
    auto sum = [&](const std::string &what, double seconds) {
      sums.row({what, signedMs(seconds), fmt::format("{:+.1f} %", seconds / account.measured * 100)});
    };
    double profiled = account.profiled - account.measured;
    sum("operators that take another time alone than in the profiled run", account.estimated() - inProblems);
    sum("kernels in no problem", -besides);
    sum("between kernels", -account.overhead);
    sum(fmt::format("the profiled run ({} ms) against the measured one", millisecondsText(account.profiled)), profiled);
    sum(fmt::format("all: the estimate ({} ms) against the measured run ({} ms)", millisecondsText(account.estimated()),
                    millisecondsText(account.measured)),
        account.estimated() - account.measured);
    text += fmt::format("{}{}: {:.1f} MB of constants, {:.1f} MB of last-level cache: {}\n{}\n{}",
                        text.empty() ? "" : "\n", account.context, account.constants * 1e-6, account.last * 1e-6,
                        name(account.state), table.str(style), sums.str({style.width}));
  }
  return text;
}

std::string textOf(const std::vector<report::ConvTable> &tables, const TableStyle &style) {
  std::string text;
  for (auto &one : tables) {
    Table table({textColumn("input"), textColumn("kernel"), textColumn("stride").drop(1), numberColumn("GFLOP").drop(2),
                 numberColumn("count"), numberColumn("time1", "ms"), numberColumn("timeM", "ms"), numberColumn("share"),
                 textColumn("fastest").shrink(10)});
    double sum = 0;
    for (auto &line : one.lines) {
      sum += line.total;
      table.row(
          {line.input, line.kernel, line.stride, number(line.flops * 1e-9), std::to_string(line.count),
           line.row ? millisecondsText(line.seconds) : "", line.row ? millisecondsText(line.total) : "not measured",
           line.row ? fmt::format("{:.1f} %", line.share * 100) : "", line.row ? report::columnOf(*line.row) : ""});
    }
    text += fmt::format("{}{}:\n{}sum of timeM: {} ms\n", text.empty() ? "" : "\n", one.context, table.str(style),
                        millisecondsText(sum));
  }
  return text;
}

std::string textOf(const std::vector<report::Correlation> &correlations, const TableStyle &style) {
  Table table({textColumn("times of").shrink(20), textColumn("with").shrink(12), numberColumn("points"),
               numberColumn("Pearson (logarithms)"), numberColumn("Spearman").drop(1)});
  for (auto &c : correlations)
    table.row({c.context, c.feature, std::to_string(c.points), number(c.pearson), number(c.spearman)});
  return table.str(style);
}

/// Where a curve turns, or why it does not.
std::string turnCell(const std::optional<report::Turn> &turn) {
  if (!turn)
    return "";
  return !turn->fit ? "too few" : turn->fit->breaks ? fmt::format("{:.3g}", std::exp(turn->fit->at)) : "nowhere";
}

std::string threadsCell(const std::optional<report::Turn> &turn) {
  return turn && turn->threads ? fmt::format("{:.0f}", *turn->threads) : "";
}

/// Between which points other columns become the fastest: measured and predicted beside each other.
std::string crossingsText(const report::TurningPoints &points, const TableStyle &style) {
  Table table({textColumn("along").shrink(12), numberColumn("from"), numberColumn("to"), textColumn("by"),
               textColumn("fastest before").shrink(12), textColumn("fastest after").shrink(12),
               textColumn("of").drop(1).shrink(20)});
  for (auto [list, by] : {std::pair(&points.measured, "times"), std::pair(&points.predicted, "predictions")})
    for (const report::Crossing &one : *list)
      table.row({one.resource, fmt::format("{:g}", one.before), fmt::format("{:g}", one.after), by, one.from, one.to,
                 one.rest});
  return table.rowCount() ? "\nWhere another column becomes the fastest:\n" + table.str(style) : "";
}

std::string textOf(const report::TurningPoints &points, const TableStyle &style) {
  Table table({textColumn("along").shrink(12), numberColumn("points"), numberColumn("turns at"),
               numberColumn("predicted").key("predicted_turns_at"), numberColumn("slope before"), numberColumn("after"),
               numberColumn("one line").drop(2), numberColumn("< 10 % a thread beyond").drop(3),
               numberColumn("predicted").drop(4).key("predicted_beyond"), textColumn("of").drop(1).shrink(20)});
  for (const report::Turning &turning : points.curves) {
    const auto &fit = turning.measured.fit;
    bool turns = fit && fit->breaks;
    table.row({turning.curve.resource, std::to_string(turning.curve.x.size()), turnCell(turning.measured),
               turnCell(turning.predicted), turns ? number(fit->before) : "", turns ? number(fit->after) : "",
               fit ? number(fit->lineSlope) : "", threadsCell(turning.measured), threadsCell(turning.predicted),
               turning.curve.context});
  }
  return table.str(style) + crossingsText(points, style);
}

/// A matrix for each column and setting: a line for each problem, and a column for each company, with a list of these.
std::string textOf(const std::vector<report::SlowDown> &slowDowns, const TableStyle &style) {
  std::string text;
  for (const report::CompanyMatrix &matrix : report::matricesOf(slowDowns)) {
    std::vector<TableColumn> columns = {problemColumn(), numberColumn("alone", "ms")};
    std::string names;
    for (size_t i = 0; i < matrix.companies.size(); ++i) {
      columns.push_back(textColumn(fmt::format("B{}", i + 1)));
      names += fmt::format("B{}: {}\n", i + 1, matrix.companies[i]);
    }
    Table table(columns);
    for (const auto &line : matrix.lines) {
      const report::SlowDown *any = *std::find_if(line.begin(), line.end(), [](auto *cell) { return cell; });
      std::vector<std::string> cells = {problemCell(*any->alone), millisecondsText(any->alone->median)};
      for (const report::SlowDown *cell : line)
        cells.push_back(
            cell ? fmt::format("{} ({})", number(cell->judged.ratio.ratio), intervalCell(cell->judged.ratio)) : "");
      table.row(std::vector<TableCell>(cells.begin(), cells.end()));
    }
    text += fmt::format("{}{} ({}), time beside B / time alone:\n{}{}", text.empty() ? "" : "\n", matrix.column,
                        matrix.context, table.str(style), names);
  }
  return text;
}

} // namespace

std::string tablesOf(const jobs::Finding &finding, const TableStyle &style) {
  return std::visit([&](const auto &figures) { return textOf(figures, style); }, finding.figures);
}

std::string diffText(const report::Diff &diff, bool all, const TableStyle &style) {
  Table table({problemColumn(), providerColumn(), textColumn("setting").drop(2).shrink(8),
               numberColumn("before", "ms").drop(3), numberColumn("after", "ms").drop(4),
               numberColumn("before / after"), textColumn("95 % interval").drop(1), textColumn("verdict")});
  auto cell = [](const Row *row) {
    return !row ? std::string() : row->counts() ? millisecondsText(row->median) : std::string(shownName(row->status));
  };
  auto show = [&](const report::DiffPoint &point) {
    bool unchanged =
        point.speed ? point.verdict == lab::Verdict::same : point.before && point.after && !point.statusChanged();
    if (unchanged && !all)
      return;
    const Row &row = point.after ? *point.after : *point.before;
    std::string verdict;
    if (point.speed)
      verdict = verdictCell(point.verdict, point.because);
    else if (!point.before || !point.after)
      verdict = point.before ? "only before" : "only after";
    else if (point.statusChanged())
      verdict = point.broke() ? "broken" : "other status";
    table.row({problemCell(row), report::scheduledColumnOf(row), report::settingText(row.setting), cell(point.before),
               cell(point.after), point.speed ? number(point.speed->ratio) : "",
               point.speed ? intervalCell(*point.speed) : "", verdict});
  };
  for (bool both : {true, false})
    for (auto &point : diff.points)
      if ((point.before && point.after) == both)
        show(point);
  std::string text;
  if (diff.tooFewStarts)
    text = fmt::format("{} of {} cannot be faster or slower: that verdict needs {} starts of each side (--starts)\n",
                       diff.tooFewStarts,
                       counted(int64_t(diff.faster + diff.slower + diff.same + diff.ambiguous), "ratio"),
                       lab::leastStartsApart);
  text += table.str(style);
  text += fmt::format("{} faster, {} same, {} ambiguous, {} slower; {} only before, {} only after\n", diff.faster,
                      diff.same, diff.ambiguous, diff.slower, diff.onlyBefore, diff.onlyAfter);
  if (diff.geometricMean)
    text += fmt::format("geometric mean of before / after: {} ({}, over problems); above 1, after is faster\n",
                        number(diff.geometricMean->ratio), lab::intervalText(*diff.geometricMean));
  return text + "The sides were not measured in turns: what else changed between them is in the ratios.\n";
}

} // namespace lathe::cli
