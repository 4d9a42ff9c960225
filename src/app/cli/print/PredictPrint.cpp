#include "cli/print/PredictPrint.h"

#include "support/Text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace lathe::cli {
namespace {

using nlohmann::json;

json milliseconds(double seconds) { return seconds > 0 ? json(seconds * 1e3) : json(); }
json microseconds(double seconds) { return seconds > 0 ? json(seconds * 1e6) : json(); }

/// Positions in `kernels`, the most expensive first.
std::vector<size_t> byCost(const PredictedModel &model) {
  std::vector<size_t> order(model.kernels.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto cost = [&](size_t i) {
    return model.clockHz > 0 ? model.latency.kernelSeconds[i] : model.plan.instructions[model.kernels[i]].cycles;
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cost(a) > cost(b); });
  return order;
}

std::string microsecondsText(double seconds) { return fmt::format("{:.4g}", seconds * 1e6); }

Table kernelTable(const PredictedModel &model) {
  const bool timed = model.clockHz > 0;
  std::vector<TableColumn> columns{textColumn("kernel").shrink(12), textColumn("nodes").drop(1).shrink(12),
                                   textColumn("schedule").drop(3).shrink(16), numberColumn("MFLOP").drop(4),
                                   numberColumn("kB").drop(5)};
  if (timed)
    columns.insert(columns.end(),
                   {numberColumn("cost model", "us").drop(2), numberColumn("predicted", "us"), numberColumn("share")});
  else
    columns.push_back(numberColumn("cost model", "cycles"));
  Table table(columns);
  double all = std::accumulate(model.latency.kernelSeconds.begin(), model.latency.kernelSeconds.end(), 0.0);
  for (size_t i : byCost(model)) {
    const PredictedInstruction &one = model.plan.instructions[model.kernels[i]];
    std::vector<TableCell> cells{one.name, fmt::format("{}", fmt::join(one.nodes, "+")), one.schedule,
                                 fmt::format("{:.3f}", one.flops * 1e-6), fmt::format("{:.1f}", one.bytes * 1e-3)};
    if (timed) {
      double seconds = model.latency.kernelSeconds[i];
      for (std::string text : {microsecondsText(one.cycles / model.clockHz), microsecondsText(seconds),
                               fmt::format("{:.1f} %", seconds / all * 100)})
        cells.push_back(std::move(text));
    } else {
      cells.push_back(fmt::format("{:.0f}", one.cycles));
    }
    table.row(cells);
  }
  return table;
}

double flopsOf(const PredictedModel &model) {
  double flops = 0;
  for (const PredictedInstruction &one : model.plan.instructions)
    flops += one.flops;
  return flops;
}

/// The line with the latency.
std::string headline(const PredictJob &job, const PredictedModel &model) {
  std::string text = fmt::format("{} on {}, {}: ", printable(job.model.model), model.plan.target.cpu,
                                 counted(int64_t(job.model.threads), "thread"));
  if (model.clockHz == 0)
    return text + fmt::format("{:.4g} cycles by the cost model; no time, because the clock of this machine is unknown\n"
                              "(lathe machine measures it; a file of --machine states it as clock_ghz)\n",
                              model.cycles());
  text += secondsText(model.latency.seconds);
  if (model.latency.high > 0)
    text += fmt::format(", with {:.0f} % between {} and {}", predict::intervalShare * 100,
                        secondsText(model.latency.low), secondsText(model.latency.high));
  return text + fmt::format("\n{}\ncost model alone {}; operations at peak {} ({}); clock {:.2f} GHz\n", model.basis,
                            secondsText(model.costModelSeconds), secondsText(model.peakSeconds),
                            flopsText(flopsOf(model)), model.clockHz * 1e-9);
}

} // namespace

json predictionJson(const PredictJob &job, const PredictedModel &model) {
  const bool timed = model.clockHz > 0;
  json kernels = json::array();
  for (size_t i = 0; i < model.kernels.size(); ++i) {
    const PredictedInstruction &one = model.plan.instructions[model.kernels[i]];
    kernels.push_back({{"name", one.name},
                       {"nodes", one.nodes},
                       {"family", one.family},
                       {"schedule", one.schedule},
                       {"shapes", one.shapes},
                       {"flops", one.flops},
                       {"bytes", one.bytes},
                       {"constant_bytes", one.constantBytes},
                       {"cost_model_cycles", one.cycles},
                       {"cost_model_us", timed ? json(one.cycles / model.clockHz * 1e6) : json()},
                       {"predicted_us", timed ? microseconds(model.latency.kernelSeconds[i]) : json()}});
  }
  return {{"model", job.model.model},
          {"target", model.plan.target.str()},
          {"machine", model.plan.target.key()},
          {"machine_known", model.machineKnown},
          {"points_file", model.pointsFile},
          {"vector_bits", model.plan.target.vectorBits},
          {"threads", job.model.threads},
          {"clock_ghz", timed ? json(model.clockHz * 1e-9) : json()},
          {"predicted_ms", milliseconds(model.latency.seconds)},
          {"low_ms", milliseconds(model.latency.low)},
          {"high_ms", milliseconds(model.latency.high)},
          {"interval_share", predict::intervalShare},
          {"basis", model.basis},
          {"cost_model_cycles", model.cycles()},
          {"cost_model_ms", milliseconds(model.costModelSeconds)},
          {"operations_at_peak_ms", milliseconds(model.peakSeconds)},
          {"flops", flopsOf(model)},
          {"not_predicted", model.unpredicted},
          {"open_extents", model.plan.report.symbols},
          {"kernels", std::move(kernels)}};
}

std::string predictionText(const PredictJob &job, const PredictedModel &model, const TableStyle &style) {
  std::string text = headline(job, model);
  if (!model.unpredicted.empty())
    text += fmt::format("not predicted, so the run takes longer: {}\n", printable(listed(model.unpredicted)));
  if (!model.plan.report.symbols.empty())
    text +=
        fmt::format("open extents count as 1: {} (--shape sets them)\n", printable(listed(model.plan.report.symbols)));
  if (!model.kernels.empty())
    text += kernelTable(model).str(style);
  return text;
}

} // namespace lathe::cli
