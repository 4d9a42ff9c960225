#include "cli/print/TunePrint.h"

#include "cli/flags/Options.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lathe::cli {
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

double gflops(const tune::Task &task, double seconds) { return seconds > 0 ? task.flops / seconds * 1e-9 : 0; }

/// "120 GFLOPS", or a time for a task without operations.
std::string speedText(const tune::Task &task, double seconds) {
  if (!std::isfinite(seconds))
    return "none passed";
  return task.flops > 0 ? fmt::format("{:.1f} GFLOPS", gflops(task, seconds)) : secondsText(seconds);
}

} // namespace

/// Type of the factors of a task's products, from the operator in its text.
static ElementType factorsOf(const tune::Task &task) {
  bool bytes =
      task.key.find("conv_integer") != std::string::npos || task.key.find("matmul_integer") != std::string::npos;
  return bytes ? ElementType::i8 : ElementType::f32;
}

double TuneCeilings::share(const tune::Task &task, double seconds) const {
  return lab::roofline(machine, factorsOf(task), task.flops, task.bytes, seconds, threads).share;
}

double TuneCeilings::limitSeconds(const tune::Task &task) const {
  return lab::roofline(machine, factorsOf(task), task.flops, task.bytes, 1, threads).limitSeconds;
}

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

std::string progressText(const std::vector<tune::TaskToTune> &tasks, const tune::TuneState &state,
                         const std::optional<TuneCeilings> &ceilings) {
  const tune::Task &task = tasks[state.task].task;
  std::string peak = ceilings && task.flops > 0 && std::isfinite(state.best)
                         ? fmt::format(" ({:.0f} % of peak)", 100 * gflops(task, state.best) / ceilings->peakGflops())
                         : "";
  return fmt::format("task {}/{} {}: {}, best {}{}; model {} ({} before), {}, {} failed", state.task + 1, tasks.size(),
                     shortened(printable(task.label), 40), speedText(task, state.current), speedText(task, state.best),
                     peak, secondsText(state.modelSeconds), secondsText(state.beforeSeconds),
                     counted(int64_t(state.trials), "trial"), state.failed);
}

Table tunedTasks(const std::vector<tune::TaskToTune> &tasks, const std::vector<tune::TunedTask> &tuned,
                 const std::optional<TuneCeilings> &ceilings) {
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto gain = [&](size_t i) { return (tuned[i].before - tuned[i].after) * double(tasks[i].task.count); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return gain(a) > gain(b); });
  Table table({numberColumn("#"), textColumn("task").shrink(24), numberColumn("runs"), numberColumn("trials"),
               textColumn("failed").drop(3), numberColumn("before", "us"), numberColumn("after", "us"),
               numberColumn("GFLOPS").drop(2), numberColumn("gain"),
               numberColumn("of roofline", "%").drop(1).key("roofline_percent"), textColumn("interval").drop(4),
               textColumn("schedule").drop(2).shrink(20), textColumn("task text").key("key").onlyData()});
  for (size_t i : order) {
    const tune::TunedTask &result = tuned[i];
    const tune::Task &task = tasks[i].task;
    std::string interval = result.ratio ? fmt::format("{:.3f} to {:.3f}", result.ratio->ratio.interval.low,
                                                      result.ratio->ratio.interval.high)
                                        : "";
    double rate = gflops(task, result.after);
    table.row({std::to_string(i + 1), task.label, std::to_string(task.count), std::to_string(result.trials),
               store::countsText(result.failures), microsecondsCell(result.before), microsecondsCell(result.after),
               rate > 0 ? valueCell(fmt::format("{:.1f}", rate), rate) : valueCell("", nullptr), gainCell(result),
               ceilings && result.after > 0 ? percent(ceilings->share(task, result.after)) : "", interval,
               result.schedule, task.key});
  }
  return table;
}

} // namespace lathe::cli
