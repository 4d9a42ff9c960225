#include "cli/print/measure/BenchPrint.h"

#include "cli/print/measure/CorunPrint.h"
#include "support/Text.h"

namespace lathe::cli {
namespace {

using nlohmann::json;

std::string timesTable(const lab::Summary &wall, const lab::Summary &cpu, const TableStyle &style) {
  auto of = [](const char *title, int order = 0) { return numberColumn(title, "ms").drop(order); };
  Table table({textColumn(""), of("median"), of("mean"), of("min"), of("max"), of("std", 1), of("p05", 4), of("p25", 5),
               of("p75", 5), of("p95", 3), of("p99", 2)});
  auto row = [&](const char *title, const lab::Summary &s) {
    std::vector<TableCell> cells{title};
    for (double value : {s.median, s.mean, s.min, s.max, s.standardDeviation, s.p05, s.p25, s.p75, s.p95, s.p99})
      cells.push_back(millisecondsText(value));
    table.row(cells);
  };
  row("wall", wall);
  row("CPU", cpu);
  return table.str(style);
}

/// "2.31 instructions a cycle, 3.90 GHz", or why the counts are missing.
std::string countsText(const BenchedSize &size) {
  lab::Counts sum = size.counts.front();
  for (size_t i = 1; i < size.counts.size(); ++i)
    sum += size.counts[i];
  if (sum.cycles && sum.instructions)
    return fmt::format("{:.2f} instructions a cycle, {:.2f} GHz\n", double(*sum.instructions) / double(*sum.cycles),
                       double(*sum.cycles) / double(*sum.cpuNs));
  return fmt::format("not counted: {}\n",
                     sum.multiplexed ? "other programs had the hardware's counters" : size.uncounted);
}

json sizeJson(const BenchedSize &size) {
  return {{"inputs", size.inputs},
          {"extents", size.extents},
          {"variant", size.variant},
          {"wall", lab::toJson(size.wall)},
          {"cpu", lab::toJson(size.cpu)},
          {"flops_per_run", size.flops},
          {"gflops", size.gflops()},
          {"peak_rss_bytes", size.peakBytes},
          {"arena_bytes", size.memory.arenaBytes},
          {"live_bytes", size.memory.liveBytes},
          {"constant_bytes", size.memory.constantBytes},
          {"scratch_bytes", size.memory.scratchBytes}};
}

std::string oneText(const BenchedSize &size, const TableStyle &style) {
  auto bytes = [](auto count) { return bytesText(static_cast<double>(count)); };
  return timesTable(size.wall, size.cpu, style) +
         fmt::format("{:.2f} GFLOPS ({} a run)\n", size.gflops(), flopsText(size.flops)) +
         (size.note.empty() ? "" : size.note + "\n") + countsText(size) +
         fmt::format("peak memory {}: constants {}, arena {}, scratch {}\n", bytes(size.peakBytes),
                     bytes(size.memory.constantBytes), bytes(size.memory.arenaBytes), bytes(size.memory.scratchBytes));
}

/// A row for each size.
std::string sizesTable(const std::vector<BenchedSize> &sizes, const TableStyle &style) {
  Table table({textColumn("inputs").shrink(16), textColumn("variant").drop(1), numberColumn("median", "ms"),
               numberColumn("min", "ms").drop(2), numberColumn("std", "ms").drop(3), numberColumn("GFLOPS"),
               numberColumn("arena").drop(4), numberColumn("runs").drop(5)});
  for (const BenchedSize &size : sizes)
    table.row({size.inputs, size.variant, millisecondsText(size.wall.median), millisecondsText(size.wall.min),
               millisecondsText(size.wall.standardDeviation), fmt::format("{:.2f}", size.gflops()),
               bytesText(static_cast<double>(size.memory.arenaBytes)), std::to_string(size.wall.count)});
  return table.str(style);
}

/// Threads of each instance of a move.
size_t threadsEach(const CorunMove &move) { return instancesOf(move).front().size(); }

/// A row for each number of instances, at each size.
std::string instancesTable(const InstancesBench &bench, const TableStyle &style) {
  std::vector<TableColumn> columns{numberColumn("instances"),    numberColumn("threads each"),
                                   numberColumn("runs").drop(2), numberColumn("median", "ms"),
                                   numberColumn("p99", "ms"),    numberColumn("inputs", "1/s"),
                                   textColumn("throughput")};
  if (bench.several)
    columns.insert(columns.begin(), textColumn("inputs").shrink(16));
  Table table(columns);
  for (const InstancesAtSize &size : bench.sizes)
    for (size_t i = 0; i < size.moves.size(); ++i) {
      const lab::CorunResult::Member &member = size.result.members[i];
      std::vector<TableCell> cells{std::to_string(size.moves[i].instances),
                                   std::to_string(threadsEach(size.moves[i])),
                                   std::to_string(member.alone.runs()),
                                   millisecondsText(member.alone.time.median),
                                   millisecondsText(member.alone.time.p99),
                                   fmt::format("{:.1f}", inputsPerSecond(member.alone, size.moves[i])),
                                   member.gain ? ratioText(member.gain->ratio) : "1"};
      if (bench.several)
        cells.insert(cells.begin(), size.inputs);
      table.row(cells);
    }
  return table.str(style);
}

/// What is to be said of the measurement at a size.
std::string instancesNotes(const InstancesAtSize &size) {
  std::string text;
  for (size_t i = 0; i < size.moves.size(); ++i)
    if (const std::string &doubt = size.result.members[i].doubt(); !doubt.empty())
      text += fmt::format("{}: not to be trusted: {}\n", counted(size.moves[i].instances, "instance"), doubt);
  return text + disturbanceText(size.result.disturbance);
}

json instancesJson(const InstancesAtSize &size) {
  json document = {{"inputs", size.inputs},
                   {"extents", size.extents},
                   {"variant", size.variant},
                   {"starts", size.result.starts.size()},
                   {"instances", json::array()}};
  for (size_t i = 0; i < size.moves.size(); ++i) {
    const lab::CorunResult::Member &member = size.result.members[i];
    json one = runsJson(member.alone, size.moves[i]);
    one.update({{"count", size.moves[i].instances},
                {"instance_threads", threadsEach(size.moves[i])},
                {"mistrusted", member.doubt()},
                {"throughput", member.gain ? lab::toJson(member.gain->ratio) : json()}});
    document["instances"].push_back(one);
  }
  return document;
}

/// What is said of a whole measurement, at its end.
std::string endText(const auto &bench) {
  return (bench.resources.empty() ? "" : "resources: " + bench.resources + "\n") +
         "outputs: " + bench.verification.text + "\n" + bench.kept;
}

/// The document of a measurement, one size or several, each of which `toJson` describes.
json documentOf(const auto &bench, const BenchJob &job, bool finished, const auto &toJson) {
  const auto &last = bench.sizes.back();
  if (bench.isMistrusted())
    return {{"model", job.model.model}, {"inputs", last.inputs}, {"mistrusted", last.mistrust}};
  json document = bench.several ? json{{"sizes", json::array()}} : toJson(last);
  if (bench.several)
    for (const auto &size : bench.sizes)
      document["sizes"].push_back(toJson(size));
  document.update({{"model", job.model.model},
                   {"target", bench.target},
                   {"threads", bench.threads},
                   {"verified", bench.verification.verified},
                   {"verification", bench.verification.text},
                   {"finished", finished}});
  if (!bench.resources.empty())
    document.update({{"resources", bench.resources}, {"held", bench.held}});
  return document;
}

} // namespace

std::string instancesText(const InstancesBench &bench, const BenchJob &job, const TableStyle &style) {
  if (bench.isMistrusted())
    return "";
  const InstancesAtSize &last = bench.sizes.back();
  std::string what = bench.several ? counted(int64_t(bench.sizes.size()), "size") : last.inputs;
  std::string text = fmt::format("{} ({}), {} on CPUs {}, {}\n", printable(job.model.model), printable(what),
                                 counted(bench.threads, "thread"), numberListText(bench.cpus), bench.target) +
                     instancesTable(bench, style);
  lab::RatioEstimate ratio;
  for (const lab::CorunResult::Member &member : last.result.members)
    if (member.gain)
      ratio = member.gain->ratio;
  text += startsText(last.result, "throughput: inputs of all instances / inputs of a single one", ratio);
  for (const InstancesAtSize &size : bench.sizes)
    text += instancesNotes(size);
  return text + endText(bench);
}

json instancesJson(const InstancesBench &bench, const BenchJob &job, bool finished) {
  json document = documentOf(bench, job, finished, [](const InstancesAtSize &size) { return instancesJson(size); });
  if (!bench.isMistrusted())
    document["cpus"] = numberListText(bench.cpus);
  return document;
}

std::string benchText(const Bench &bench, const BenchJob &job, const TableStyle &style) {
  if (bench.isMistrusted())
    return "";
  const BenchedSize &first = bench.sizes.front();
  std::string what = bench.several ? counted(int64_t(bench.sizes.size()), "size")
                                   : first.inputs + (first.variant.empty() ? "" : ", variant " + first.variant);
  std::string runs = bench.several ? "" : ", " + counted(int64_t(first.wall.count), "run");
  return fmt::format("{} ({}), {}{}, {}\n", printable(job.model.model), printable(what),
                     counted(bench.threads, "thread"), runs, bench.target) +
         (bench.several ? sizesTable(bench.sizes, style) : oneText(first, style)) + endText(bench);
}

json benchJson(const Bench &bench, const BenchJob &job, bool finished) {
  return documentOf(bench, job, finished, sizeJson);
}

} // namespace lathe::cli
