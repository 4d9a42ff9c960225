#include "cli/AnalyzeTables.h"

#include "cli/StoreFlags.h"
#include "lab/ProblemSyntax.h"

#include <cmath>

namespace lathe::cli {
namespace {

using report::Row;

/// A table that stops after `limit` rows and says what it left out.
class LimitedTable {
public:
  LimitedTable(std::vector<std::string> titles, size_t limit) : table(std::move(titles)), limit(limit) {}
  void row(std::vector<std::string> cells) {
    ++rows;
    if (limit == 0 || rows <= limit)
      table.row(std::move(cells));
  }
  std::string str() const {
    return table.str() +
           (limit && rows > limit ? fmt::format("... and {} more (--rows 0 shows all)\n", rows - limit) : "");
  }

private:
  Table table;
  size_t limit, rows = 0;
};

/// A convolution's short text and what is applied to it beyond the usual relu; any other problem's own.
std::string problemText(const lab::Problem &problem) {
  std::string text = lab::shortText(problem);
  bool usual = problem.epilogue.empty() || (problem.epilogue.size() == 1 && problem.epilogue[0] == "relu");
  if (problem.op == "conv" && !usual)
    text += fmt::format(" +{}", fmt::join(problem.epilogue, " +"));
  return shortened(text, 60);
}

std::string problemCell(const Row &row) {
  return row.shape ? problemText(*row.shape) : shortened(row.op + " " + row.problem, 60);
}

std::string columnCell(const Row &row) { return shortened(report::scheduledColumnOf(row), 40); }

std::string ms(double seconds) { return fmt::format("{:.4f}", seconds * 1e3); }
std::string signedMs(double seconds) { return fmt::format("{:+.4f}", seconds * 1e3); }

std::string intervalText(const lab::Interval &interval) {
  return fmt::format("{:.3f} to {:.3f}", interval.low, interval.high);
}

std::string number(const std::optional<double> &value, const char *otherwise = "") {
  return value ? fmt::format("{:.3f}", *value) : otherwise;
}

} // namespace

std::string rooflineText(const std::vector<report::RooflineShare> &shares, size_t limit) {
  LimitedTable table({"problem", "provider", "setting", "ms", "GFLOPS", "GB/s", "FLOP/byte", "roofline", "bound by"},
                     limit);
  bool unknown = false;
  for (auto &share : shares) {
    unknown |= !share.limit;
    table.row({problemCell(*share.row), columnCell(*share.row), report::contextText(*share.row), ms(share.row->median),
               fmt::format("{:.1f}", share.gflops), fmt::format("{:.2f}", share.gbytesPerSecond),
               fmt::format("{:.2f}", share.intensity),
               share.limit ? fmt::format("{:.0f} %", share.limit->share * 100) : "?",
               share.limit ? share.limit->bound : "?"});
  }
  return table.str() + (unknown ? "?: the ceilings are not known: measured on another machine, or `lathe machine` has "
                                  "not been run on this one\n"
                                : "");
}

std::string countedText(const std::vector<report::Counted> &counted, size_t limit) {
  LimitedTable table({"problem", "provider", "setting", "ms", "CPU ms", "processors", "instr./cycle", "GHz",
                      "FLOP/cycle", "cache misses"},
                     limit);
  bool hardware = false;
  auto cell = [](const std::optional<double> &value, int digits) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "";
  };
  for (auto &entry : counted) {
    hardware |= entry.row->cycles.has_value();
    table.row({problemCell(*entry.row), report::columnOf(*entry.row), report::contextText(*entry.row),
               ms(entry.row->median), ms(*entry.row->cpuSeconds), fmt::format("{:.2f}", *entry.row->processors),
               cell(entry.instructionsPerCycle, 2), cell(entry.row->gigahertz, 2), cell(entry.flopsPerCycle, 1),
               cell(entry.row->cacheMisses, 0)});
  }
  return table.str() + (hardware ? "" : "no hardware counters were kept: `lathe ops bench` says why\n");
}

std::string speedupText(const report::Speedups &speedups, const std::string &baseline, size_t limit) {
  LimitedTable points({"problem", "setting", "provider", "ms", baseline + " ms", "speedup", "95 % interval"}, limit);
  for (auto &speedup : speedups.rows)
    points.row({problemCell(*speedup.row), report::contextText(*speedup.row), columnCell(*speedup.row),
                ms(speedup.row->median), ms(speedup.baseline->median), number(speedup.ratio.ratio),
                intervalText(speedup.ratio.interval)});
  Table summaries({"provider", "setting", "problems", "geometric mean", "95 % interval"});
  for (auto &summary : speedups.summaries)
    summaries.row({summary.column, summary.setting, std::to_string(summary.problems),
                   number(summary.geometricMean.ratio), intervalText(summary.geometricMean.interval)});
  return points.str() + "\n" + summaries.str();
}

std::string bestText(const std::vector<report::Best> &best, size_t limit) {
  LimitedTable table({"problem", "setting", "fastest", "schedule", "ms", "next", "next / fastest", "verdict"}, limit);
  for (auto &entry : best)
    table.row({problemCell(*entry.row), report::contextText(*entry.row), report::columnOf(*entry.row),
               shortened(report::scheduleOf(*entry.row), 40), ms(entry.row->median),
               entry.second ? report::columnOf(*entry.second) : "", entry.second ? number(entry.ratio.ratio) : "",
               entry.second ? std::string(name(entry.verdict)) : "alone"});
  Table counts({"fastest", "times", "beyond doubt or alone"});
  for (auto &count : report::countBest(best))
    counts.row({count.what, std::to_string(count.best), std::to_string(count.clearly)});
  return table.str() + "\n" + counts.str();
}

std::string schedulesText(const report::ScheduleGains &gains, size_t limit) {
  LimitedTable table({"problem", "setting", "provider", "schedules", "default ms", "best ms", "default / best",
                      "95 % interval", "verdict", "best schedule"},
                     limit);
  for (auto &gain : gains.rows)
    table.row({problemCell(*gain.best), report::contextText(*gain.best), report::columnOf(*gain.best),
               std::to_string(gain.schedules), ms(gain.standard->median), ms(gain.best->median),
               number(gain.ratio.ratio), gain.isDefault() ? "" : intervalText(gain.ratio.interval),
               gain.isDefault() ? "the default" : std::string(name(gain.verdict)),
               shortened(report::scheduleOf(*gain.best), 60)});
  Table summaries({"provider", "setting", "problems", "better than the default", "geometric mean", "95 % interval"});
  for (auto &summary : gains.summaries)
    summaries.row({summary.column, summary.setting, std::to_string(summary.problems), std::to_string(summary.better),
                   number(summary.geometricMean.ratio), intervalText(summary.geometricMean.interval)});
  return table.str() + "\n" + summaries.str();
}

std::string failedText(const std::vector<const Row *> &failed, size_t limit) {
  std::string text;
  for (size_t i = 0; i < failed.size() && (limit == 0 || i < limit); ++i)
    text += fmt::format("{} {}, {}: {}: {}\n  {}\n", report::scheduledColumnOf(*failed[i]), problemCell(*failed[i]),
                        report::contextText(*failed[i]), name(failed[i]->status), failed[i]->reason, failed[i]->repro);
  if (limit && failed.size() > limit)
    text += fmt::format("... and {} more (--rows 0 shows all)\n", failed.size() - limit);
  return text;
}

std::string estimateText(const std::vector<report::Estimate> &estimates, size_t limit) {
  LimitedTable table({"setting", "provider", "operators", "without a time", "sum ms", "measured ms", "difference"},
                     limit);
  for (auto &estimate : estimates) {
    int64_t missing = 0;
    for (auto &part : estimate.missing)
      missing += part.count;
    table.row({estimate.context, estimate.provider.empty() ? "(fastest)" : estimate.provider,
               std::to_string(estimate.counted), missing ? std::to_string(missing) : "", ms(estimate.seconds),
               estimate.measuredSeconds ? ms(*estimate.measuredSeconds) : "not known",
               estimate.difference ? fmt::format("{:+.1f} %", *estimate.difference * 100) : ""});
  }
  std::string text = table.str();
  for (auto &estimate : estimates) // of the fastest: nobody has a time for these
    if (estimate.provider.empty())
      for (auto &part : estimate.missing)
        text += fmt::format("without a time ({}): {} x {}\n", estimate.context, part.count, part.problem);
  return text;
}

std::string accountText(const std::vector<report::Account> &accounts, size_t limit) {
  using store::CacheState;
  std::string text;
  for (auto &account : accounts) {
    LimitedTable table({"problem", "count", "hot ms", "cold-constants ms", "cold ms", "taken", "estimate ms",
                        "in the network ms", "difference ms"},
                       limit);
    double inProblems = 0, besides = 0;
    for (const report::AccountLine &line : account.lines) {
      auto alone = [&](CacheState state) {
        auto found = line.alone.find(state);
        return found == line.alone.end() ? std::string() : ms(found->second);
      };
      bool problem = !line.operators.empty();
      std::string what = problem ? "" : "in no problem: " + line.what;
      for (auto &one : line.operators)
        what += (what.empty() ? "" : " and ") + problemText(lab::Problem::parse(one.problem));
      (problem ? inProblems : besides) += line.inNetwork;
      table.row({what, std::to_string(line.count), alone(CacheState::hot), alone(CacheState::coldConstants),
                 alone(CacheState::cold), line.states(), problem ? ms(line.estimated) : "", ms(line.inNetwork),
                 signedMs(line.difference())});
    }
    Table sums({"", "ms", "of the measured"});
    auto sum = [&](const std::string &what, double seconds) {
      sums.row({what, signedMs(seconds), fmt::format("{:+.1f} %", seconds / account.measured * 100)});
    };
    double profiled = account.profiled - account.measured;
    sum("operators that take another time alone than in the profiled run", account.estimated() - inProblems);
    sum("kernels in no problem", -besides);
    sum("between kernels", -account.overhead);
    sum(fmt::format("the profiled run ({} ms) against the measured one", ms(account.profiled)), profiled);
    sum(fmt::format("all: the estimate ({} ms) against the measured run ({} ms)", ms(account.estimated()),
                    ms(account.measured)),
        account.estimated() - account.measured);
    text += fmt::format("{}{}: {:.1f} MB of constants, {:.1f} MB of last-level cache: {}\n{}\n{}",
                        text.empty() ? "" : "\n", account.context, account.constants * 1e-6, account.last * 1e-6,
                        name(account.state), table.str(), sums.str());
  }
  return text;
}

std::string convTableText(const std::vector<report::ConvTable> &tables, size_t limit) {
  std::string text;
  for (auto &one : tables) {
    LimitedTable table({"input", "kernel", "stride", "GFLOP", "count", "time1 ms", "timeM ms", "share", "fastest"},
                       limit);
    double sum = 0;
    for (auto &line : one.lines) {
      sum += line.total;
      table.row({line.input, line.kernel, line.stride, number(line.flops * 1e-9), std::to_string(line.count),
                 line.row ? ms(line.seconds) : "", line.row ? ms(line.total) : "not measured",
                 line.row ? fmt::format("{:.1f} %", line.share * 100) : "",
                 line.row ? report::columnOf(*line.row) : ""});
    }
    text += fmt::format("{}{}:\n{}sum of timeM: {} ms\n", text.empty() ? "" : "\n", one.context, table.str(), ms(sum));
  }
  return text;
}

std::string correlationText(const std::vector<report::Correlation> &correlations, size_t limit) {
  LimitedTable table({"times of", "with", "points", "Pearson (logarithms)", "Spearman"}, limit);
  for (auto &c : correlations)
    table.row({c.context, c.feature, std::to_string(c.points), number(c.pearson), number(c.spearman)});
  return table.str();
}

std::string turningText(const std::vector<report::Turning> &turnings, size_t limit) {
  LimitedTable table(
      {"along", "points", "turns at", "slope before", "after", "one line", "< 10 % a thread beyond", "of"}, limit);
  for (auto &turning : turnings) {
    auto &fit = turning.fit;
    bool turns = fit && fit->breaks;
    table.row({turning.curve.resource, std::to_string(turning.curve.x.size()),
               turns ? fmt::format("{:.3g}", std::exp(fit->at))
               : fit ? "nowhere"
                     : "too few",
               turns ? number(fit->before) : "", turns ? number(fit->after) : "", fit ? number(fit->lineSlope) : "",
               turning.threads ? fmt::format("{:.0f}", *turning.threads) : "", shortened(turning.curve.context, 90)});
  }
  return table.str();
}

std::string diffText(const report::Diff &diff, bool all, size_t limit) {
  LimitedTable table(
      {"problem", "provider", "setting", "before ms", "after ms", "before / after", "95 % interval", "verdict"}, limit);
  auto cell = [](const Row *row) {
    return !row ? std::string() : row->counts() ? ms(row->median) : std::string(name(row->status));
  };
  auto show = [&](const report::DiffPoint &point) {
    bool unchanged =
        point.speed ? point.verdict == lab::Verdict::same : point.before && point.after && !point.statusChanged();
    if (unchanged && !all)
      return;
    const Row &row = point.after ? *point.after : *point.before;
    std::string verdict;
    if (point.speed)
      verdict = name(point.verdict);
    else if (!point.before || !point.after)
      verdict = point.before ? "only before" : "only after";
    else if (point.statusChanged())
      verdict = point.broke() ? "broken" : "other status";
    table.row({problemCell(row), columnCell(row), report::settingText(row.setting), cell(point.before),
               cell(point.after), point.speed ? number(point.speed->ratio) : "",
               point.speed ? intervalText(point.speed->interval) : "", verdict});
  };
  for (bool both : {true, false})
    for (auto &point : diff.points)
      if ((point.before && point.after) == both)
        show(point);
  std::string text = table.str();
  text += fmt::format("{} faster, {} same, {} ambiguous, {} slower; {} only before, {} only after\n", diff.faster,
                      diff.same, diff.ambiguous, diff.slower, diff.onlyBefore, diff.onlyAfter);
  if (diff.geometricMean)
    text += fmt::format("geometric mean of before / after: {} ({}, over problems); above 1, after is faster\n",
                        number(diff.geometricMean->ratio), intervalText(diff.geometricMean->interval));
  return text + "The sides were not measured in turns: what else changed between them is in the ratios.\n";
}

} // namespace lathe::cli
