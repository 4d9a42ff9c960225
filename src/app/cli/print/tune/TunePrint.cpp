#include "cli/print/tune/TunePrint.h"

#include "support/Text.h"

#include <algorithm>
#include <numeric>

namespace lathe::cli {

using nlohmann::json;

namespace {

/// The speedup (before / after) of a task whose kept schedule differs from the default.
TableCell gainCell(const tune::TunedTask &task) {
  if (!task.gained || task.before <= 0)
    return valueCell("", nullptr);
  double gain = task.before / task.after;
  return valueCell(fmt::format("{:.3f}", gain), gain);
}
/// "1234.5", "1.234": at least four digits; JSON has all digits.
TableCell microsecondsCell(double seconds) {
  if (seconds <= 0)
    return valueCell("", nullptr);
  double microseconds = seconds * 1e6;
  int decimals = microseconds < 10 ? 3 : microseconds < 100 ? 2 : 1;
  return valueCell(fmt::format("{:.{}f}", microseconds, decimals), microseconds);
}
std::string percent(double share) { return fmt::format("{:.1f}", share * 100); }

/// "1.052 times the speed of the untuned one (1.044 to 1.060), faster". `other` replaces "the untuned one".
std::string speedText(const TunedComparison &comparison, const std::string &other = "the untuned one") {
  const json &peer = comparison.comparison.at("peers").at(0);
  if (!peer.contains("ratio"))
    return "the outputs of both do not agree";
  return fmt::format("{:.3f} times the speed of {}{} ({:.3f} to {:.3f}), {}", peer.value("ratio", 0.0), other,
                     comparison.comparison.contains("company") ? " in company" : "", peer.value("ratio_low", 0.0),
                     peer.value("ratio_high", 0.0), peer.value("verdict", ""));
}

/// "1.052 times the speed of the untuned one (1.044 to 1.060), faster; verified: relative error 3.1e-07".
std::string outcomeText(const TunedOutcome &outcome) {
  return outcome.comparison ? fmt::format("{}; {}", speedText(*outcome.comparison), outcome.check.text)
                            : outcome.check.text;
}

/// The times of both packages, side by side.
Table sidesTable(const TunedComparison &comparison) {
  Table table({textColumn("package"), numberColumn("median", "ms"), numberColumn("mean", "ms"),
               numberColumn("min", "ms"), numberColumn("max", "ms"), numberColumn("std", "ms")});
  const char *names[] = {"tuned", "untuned"};
  for (size_t i : {1, 0}) {
    const json &time = comparison.comparison.at("sides").at(i).at("time");
    auto cell = [&](const char *key) { return fmt::format("{:.3f}", time.at(key).get<double>()); };
    table.row({names[i], cell("median_ms"), cell("mean_ms"), cell("min_ms"), cell("max_ms"), cell("std_ms")});
  }
  return table;
}

/// "graph: 12 kernels measured; their times choose other layouts, kernels or orders of images for 3 operators: 1.03
/// times ..., kept"; "" if there was nothing to measure.
std::string graphText(const GraphOutcome &graph) {
  if (!graph.measured)
    return graph.kept ? "graph: chosen by the times of earlier runs\n" : "";
  std::string text = fmt::format("graph: {} measured; ", counted(int64_t(graph.measured), "kernel"));
  if (!graph.comparison)
    return text + "their times choose the default graph\n";
  return text + fmt::format("their times choose other layouts, kernels or orders of images for {}: {}; {}\n",
                            counted(int64_t(graph.choices), "operator"),
                            speedText(*graph.comparison, "the default one"), graph.kept ? "kept" : "not kept");
}

json graphJson(const GraphOutcome &graph) {
  json document = {
      {"kernels", graph.kernels}, {"measured", graph.measured}, {"choices", graph.choices}, {"kept", graph.kept}};
  if (graph.comparison)
    document["comparison"] = graph.comparison->comparison;
  return document;
}

/// What was compared about streams, one line for each choice, and what is kept.
std::string streamsText(const StreamOutcome &streams) {
  std::string text =
      fmt::format("streams: {} on teams of threads, {} of them measured by this run\n",
                  counted(int64_t(streams.kernels), "time of a kernel", "times of kernels"), streams.measured);
  for (const StreamCandidate &candidate : streams.candidates) {
    const StreamsReport &report = candidate.report;
    std::string verdict = candidate.comparison ? speedText(*candidate.comparison, candidate.against)
                          : candidate.verdict == store::TuningVerdict::open
                              ? "not compared, the time was over"
                              : fmt::format("compared by an earlier run, {}", name(candidate.verdict));
    text +=
        fmt::format("  {}: {} beside others in {}, {} alone on fewer threads, expected {:.3f}: {}\n", candidate.from,
                    counted(int64_t(report.instructions), "kernel"), counted(int64_t(report.phases), "phase"),
                    report.alone, report.cycles > 0 ? report.sequenceCycles / report.cycles : 1.0, verdict);
  }
  text += streams.kept ? fmt::format("  kept: the choice of {}\n", streams.candidates[*streams.kept].from)
                       : "  kept: a sequence, no kernels beside each other\n";
  return streams.complete ? text : text + "  the time was over before all was measured; the same command goes on\n";
}

json streamsJson(const StreamOutcome &streams) {
  json candidates = json::array();
  for (const StreamCandidate &candidate : streams.candidates)
    candidates.push_back({{"from", candidate.from},
                          {"choice", candidate.choice},
                          {"kernels", candidate.report.instructions},
                          {"phase_count", candidate.report.phases},
                          {"kernels_on_fewer_threads", candidate.report.alone},
                          {"expected_cycles", candidate.report.cycles},
                          {"sequence_cycles", candidate.report.sequenceCycles},
                          {"verdict", name(candidate.verdict)},
                          {"against", candidate.against},
                          {"comparison", candidate.comparison ? candidate.comparison->comparison : json()}});
  return {{"times", streams.kernels},
          {"measured", streams.measured},
          {"candidates", candidates},
          {"kept", streams.kept ? json(streams.candidates[*streams.kept].choice) : json()},
          {"complete", streams.complete}};
}

std::string wholeText(const TuneJob &job, const Tuned &tuned, const TableStyle &style) {
  if (!tuned.whole)
    return "no schedule is faster than the default beyond doubt: nothing changes\n";
  const TunedOutcome &whole = *tuned.whole;
  std::string text;
  if (whole.withAll)
    text = fmt::format("the model with all faster schedules: {}\n{} inside the model: not kept\n",
                       speedText(*whole.withAll),
                       counted(int64_t(whole.dropped.size()), "schedule gains nothing", "schedules gain nothing"));
  text += fmt::format("the model: {}\n", outcomeText(whole));
  if (whole.valid() && tuned.undone)
    text += "the tuned model is not faster: nothing of it is kept\n";
  if (job.compare && whole.valid())
    text += sidesTable(*whole.comparison).str(style);
  return text;
}

size_t failedTrials(const std::vector<tune::TunedTask> &tasks) {
  size_t all = 0;
  for (const tune::TunedTask &task : tasks)
    for (auto &[status, count] : task.failures)
      all += count;
  return all;
}

} // namespace

Table listedTasks(const std::vector<tune::TaskToTune> &tasks) {
  double all = 0;
  for (const tune::TaskToTune &task : tasks)
    all += task.predictedSeconds * double(task.task.count);
  Table table({numberColumn("#"), textColumn("task").shrink(30), textColumn("first node").drop(3).shrink(12),
               numberColumn("runs"), numberColumn("work", "MFLOP").drop(4),
               numberColumn("time", "%").key("share_percent"), numberColumn("points").drop(1),
               numberColumn("trials").drop(2), textColumn("prior").drop(5).shrink(20), textColumn("family").onlyData(),
               textColumn("task text").key("key").onlyData()});
  for (size_t i = 0; i < tasks.size(); ++i) {
    const tune::TaskToTune &task = tasks[i];
    table.row({std::to_string(i + 1), task.task.label, task.task.nodes.empty() ? "" : task.task.nodes.front(),
               std::to_string(task.task.count), fmt::format("{:.1f}", task.task.flops * 1e-6),
               percent(task.predictedSeconds * double(task.task.count) / all),
               fmt::format("{:.3g}", spaceOf(task).points()), std::to_string(task.known.size()), task.prior,
               task.task.family, task.task.key});
  }
  return table;
}

Table tunedTasks(const Tuned &tuned) {
  const std::vector<tune::TaskToTune> &tasks = tuned.list.tasks;
  const std::vector<tune::TunedTask> &results = tuned.results;
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto gain = [&](size_t i) { return (results[i].before - results[i].after) * double(tasks[i].task.count); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return gain(a) > gain(b); });
  Table table({numberColumn("#"), textColumn("task").shrink(24), numberColumn("runs"), numberColumn("trials"),
               textColumn("failed").drop(3), numberColumn("before", "us"), numberColumn("after", "us"),
               numberColumn("GFLOPS").drop(2), numberColumn("gain"),
               numberColumn("of roofline", "%").drop(1).key("roofline_percent"), textColumn("interval").drop(4),
               textColumn("schedule").drop(2).shrink(20), textColumn("task text").key("key").onlyData()});
  for (size_t i : order) {
    const tune::TunedTask &result = results[i];
    const tune::Task &task = tasks[i].task;
    std::string interval = result.ratio ? fmt::format("{:.3f} to {:.3f}", result.ratio->ratio.interval.low,
                                                      result.ratio->ratio.interval.high)
                                        : "";
    double rate = gflopsOf(task, result.after);
    table.row({std::to_string(i + 1), task.label, std::to_string(task.count), std::to_string(result.trials),
               store::countsText(result.failures), microsecondsCell(result.before), microsecondsCell(result.after),
               rate > 0 ? valueCell(fmt::format("{:.1f}", rate), rate) : valueCell("", nullptr), gainCell(result),
               tuned.ceilings && result.after > 0 ? percent(tuned.ceilings->roofline(task, result.after).share) : "",
               interval, result.schedule, task.key});
  }
  return table;
}

std::string spaceText(const ExportedSpace &space) {
  return fmt::format("{}: {}, {} algorithms, {:.3g} points, about {:.3g} of them legal; {} written\n", space.file,
                     counted(int64_t(space.kernels), "distinct kernel"), space.algorithms, space.points, space.legal,
                     space.written);
}

std::string startText(const SearchStart &start) {
  std::vector<std::string> sources;
  if (start.tasks)
    sources.push_back(fmt::format("{} of {}", counted(int64_t(start.schedules), "measured schedule"),
                                  counted(int64_t(start.tasks), "other task")));
  if (start.models)
    sources.push_back(start.models->str());
  return fmt::format("starts from {}\n", listed(sources));
}

json tunedJson(const TuneJob &job, const Tuned &tuned, const Table &tasks) {
  json start = {{"tasks", tuned.start.tasks}, {"schedules", tuned.start.schedules}};
  if (tuned.start.models)
    start["file"] = tuned.start.models->file;
  json history = json::array();
  for (const SearchStep &step : tuned.history)
    history.push_back({{"trials", step.trials}, {"seconds", step.seconds}, {"expected_ms", step.modelSeconds * 1e3}});
  const tune::MeasureCounts &counts = tuned.counts;
  json document = tuned.document(job);
  document.update({{"searcher", job.searcherName()},
                   {"starts_from", start},
                   {"seconds", tuned.seconds},
                   {"ended", tuned.ended},
                   {"tasks", toJson(tasks)},
                   {"history", history},
                   {"trials", counts.trials},
                   {"failed_trials", failedTrials(tuned.results)},
                   {"build_s", counts.build},
                   {"run_s", counts.run},
                   {"choose_s", tuned.chooseSeconds},
                   {"prepare_s", counts.prepare},
                   {"trials_per_minute", counts.trialsPerMinute()},
                   {"undone", tuned.undone}});
  if (const auto &whole = tuned.whole) {
    document["verification"] = whole->check.text;
    document["comparison"] = whole->comparison ? whole->comparison->comparison : json();
    document["dropped"] = whole->dropped;
    if (whole->withAll)
      document["comparison_with_all"] = whole->withAll->comparison;
  }
  if (tuned.graph)
    document["graph"] = graphJson(*tuned.graph);
  if (tuned.streams)
    document["streams"] = streamsJson(*tuned.streams);
  if (!tuned.company.empty())
    document["company"] = tuned.company.str();
  return document;
}

std::string tunedText(const TuneJob &job, const Tuned &tuned, const Table &tasks, const TableStyle &style) {
  std::string text = tasks.str(style);
  if (!tuned.company.empty())
    text += fmt::format("all times {}\n", printable(tuned.company.str()));
  for (const std::string &reason : tuned.leftOut)
    text += fmt::format("not tuned: {}\n", printable(reason));
  for (size_t i = 0; i < tuned.results.size(); ++i)
    if (const std::string &reason = tuned.results[i].declined; !reason.empty())
      text += fmt::format("task {} was not tuned: {}\n", i + 1, printable(reason));
  const tune::MeasureCounts &counts = tuned.counts;
  text += fmt::format("{}; {}, {:.0f} a minute: building {:.0f} s, running {:.0f} s, choosing {:.0f} s, operands "
                      "and references {:.0f} s; {:.0f} s in all\n",
                      tuned.ended, counted(counts.trials, "trial"), counts.trialsPerMinute(), counts.build, counts.run,
                      tuned.chooseSeconds, counts.prepare, tuned.seconds);
  if (tuned.graph)
    text += graphText(*tuned.graph) + wholeText(job, tuned, style);
  if (tuned.streams)
    text += streamsText(*tuned.streams);
  return text + tuned.kept;
}

std::string failureText(const Tuned &tuned) {
  if (!tuned.any())
    return "no task can be measured: " + tuned.results.front().declined;
  return !tuned.whole || tuned.whole->valid() ? "" : "nothing is kept: " + outcomeText(*tuned.whole);
}

} // namespace lathe::cli
