#include "cli/FrontVerbs.h"
#include "cli/Recording.h"
#include "cli/print/Progress.h"
#include "cli/print/Terminal.h"
#include "lab/StoreRecords.h"
#include "lab/judging/Statistics.h"
#include "lab/machine/Counters.h"
#include "lab/machine/Disturbance.h"
#include "support/Text.h"

#include <chrono>
#include <cmath>
#include <iostream>

namespace lathe::cli {
namespace {

using nlohmann::json;

struct BenchFlags {
  ModelFlags model;
  InputFlags inputs;
  RecordFlags record;
  lab::StoppingRule rule;
  size_t repetitions = 0, warmUp = 3; // repetitions 0: the rule decides

  void add(Options &options) {
    model.add(options, ModelUse::run);
    model.addLoading(options);
    inputs.add(options, "random");
    options.add_option("--repetitions", repetitions, "Time exactly this many runs instead of using the stopping rule")
        ->check(CLI::PositiveNumber);
    options.add_option("--warm-up", warmUp, "Run this many times before timing")->capture_default_str();
    options.add_option("--max-seconds", rule.maxSeconds, "Measure for at most this long, in seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    options
        .add_option("--interval", rule.relativeHalfWidth,
                    "Stop when half the median's 95 % interval is below this share of the median")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    record.add(options, &model);
    options.addQuiet();
    options.addWide();
    options.addJson();
    options.afterParse([this, &options] {
      if (repetitions)
        options.refuse({"--max-seconds", "--interval"}, "--repetitions decides how many runs there are");
    });
  }

  json settings() const {
    return {{"warm_up", warmUp},
            {"repetitions", repetitions},
            {"max_seconds", rule.maxSeconds},
            {"interval", rule.relativeHalfWidth},
            {"fill", inputs.fill},
            {"seed", inputs.seed}};
  }
};

/// What was measured, a value of each run: a network's takes far longer than a reading of the counters.
struct Runs {
  std::vector<double> wall, cpu; // seconds
  std::vector<lab::Counts> counts;
  std::string uncounted; // why counts are missing
  store::Disturbance disturbance;
};

Runs timeRuns(runtime::Context &context, const BenchFlags &flags) {
  for (size_t i = 0; i < flags.warmUp; ++i)
    context.run();
  Runs runs;
  lab::Counters counters;
  runs.uncounted = counters.uncounted();
  Progress progress("bench");
  using Clock = std::chrono::steady_clock;
  lab::DisturbanceMeter meter;
  Clock::time_point start = Clock::now();
  auto seconds = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
  while (flags.repetitions ? runs.wall.size() < flags.repetitions : !flags.rule.satisfied(runs.wall, seconds(start))) {
    lab::CounterReading countersBefore = counters.read();
    Clock::time_point before = Clock::now();
    context.run();
    runs.wall.push_back(seconds(before));
    runs.counts.push_back(lab::between(countersBefore, counters.read()));
    runs.cpu.push_back(double(runs.counts.back().cpuNs.value_or(0)) * 1e-9);
    if (flags.repetitions)
      progress.update("run", runs.wall.size(), flags.repetitions);
    else
      progress.updateUntil(fmt::format("run {}", runs.wall.size()), flags.rule.maxSeconds - seconds(start));
  }
  runs.disturbance = meter.read();
  return runs;
}

void record(Recording &recording, const BenchFlags &flags, const Prepared &prepared, const Verification &verification,
            const Runs &runs) {
  if (!recording.on())
    return;
  store::Point point = modelPoint(flags.model, flags.inputs, prepared, verification);
  point.disturbance = runs.disturbance;
  std::vector<store::Sample> samples(runs.wall.size());
  for (size_t i = 0; i < samples.size(); ++i)
    samples[i] = lab::samplesOf({{runs.wall[i]}}, {runs.counts[i]})[0][0];
  if (point.status != store::PointStatus::failed) // no time without an answer
    point.rounds.push_back(std::move(samples));
  recording.add({point});
  recording.finish(point.disturbance);
}

std::string timesTable(const lab::Summary &wall, const lab::Summary &cpu, const TableStyle &style) {
  auto of = [](const char *title, int order = 0) { return numberColumn(title, "ms").drop(order); };
  Table table({textColumn(""), of("median"), of("mean"), of("min"), of("max"), of("std", 1), of("p05", 4), of("p25", 5),
               of("p75", 5), of("p95", 3), of("p99", 2)});
  auto row = [&](const char *title, const lab::Summary &s) {
    std::vector<TableCell> cells{title};
    for (double value : {s.median, s.mean, s.min, s.max, s.standardDeviation, s.p05, s.p25, s.p75, s.p95, s.p99})
      cells.push_back(fmt::format("{:.4f}", value * 1e3));
    table.row(cells);
  };
  row("wall", wall);
  row("CPU", cpu);
  return table.str(style);
}

/// "2.31 instructions a cycle, 3.90 GHz", or why nobody knows.
std::string countsText(const Runs &runs) {
  lab::Counts sum = runs.counts.front();
  for (size_t i = 1; i < runs.counts.size(); ++i)
    sum += runs.counts[i];
  if (sum.cycles && sum.instructions)
    return fmt::format("{:.2f} instructions a cycle, {:.2f} GHz\n", double(*sum.instructions) / double(*sum.cycles),
                       double(*sum.cycles) / double(*sum.cpuNs));
  return fmt::format("not counted: {}\n",
                     sum.multiplexed ? "other programs had the hardware's counters" : runs.uncounted);
}

} // namespace

int benchVerb(const Arguments &arguments) {
  BenchFlags flags;
  Options options(
      "bench",
      "Time single runs with bound buffers, layout conversions included, until the median is known well enough.",
      "  lathe bench resnet50.lathe --threads 2\n"
      "  lathe bench zoo:mobilenet_v2 --repetitions 100 --json bench.json\n"
      "  lathe bench model.onnx --batch 8 --max-seconds 30\n");
  flags.add(options);
  options.parseAll(arguments);
  const ModelFlags &model = flags.model;
  Recording recording(flags.record, store::ExperimentKind::bench, "bench", arguments, flags.settings());

  Prepared prepared = prepare(model, flags.inputs);
  // No timing without an answer (decision 11).
  if (std::string mistrust = mistrusted(prepared); !mistrust.empty()) {
    say(fmt::format("lathe bench: not timed, the outputs are mistrusted: {}", mistrust));
    options.writeJson({{"model", model.model}, {"mistrusted", mistrust}});
    return failedVerdict;
  }
  Verification verification = verificationOf(*prepared.model);
  runtime::Context &context = *prepared.context;
  Runs runs = timeRuns(context, flags);
  uint64_t peakBytes = peakResidentBytes(); // of running the package, before anything is made of the figures
  record(recording, flags, prepared, verification, runs);

  lab::Summary time = lab::summarize(runs.wall), cpuTime = lab::summarize(runs.cpu);
  runtime::MemoryUse memory = context.memory();
  double gflops = prepared.flops / time.median * 1e-9;
  if (options.printsText()) {
    auto bytes = [](auto count) { return bytesText(static_cast<double>(count)); };
    std::cout << fmt::format("{} ({}), {}, {}, {}\n", model.model, prepared.inputText,
                             counted(context.threads(), "thread"), counted(int64_t(time.count), "run"),
                             prepared.model->target())
              << timesTable(time, cpuTime, options.tableStyle())
              << fmt::format("{:.2f} GFLOPS ({} a run)\n", gflops, flopsText(prepared.flops)) << countsText(runs)
              << fmt::format("peak memory {}: constants {}, arena {}, scratch {}\n", bytes(peakBytes),
                             bytes(memory.constantBytes), bytes(memory.arenaBytes), bytes(memory.scratchBytes))
              << "outputs: " << verification.text << "\n"
              << recording.line();
  }
  options.writeJson({{"model", model.model},
                     {"target", prepared.model->target()},
                     {"inputs", prepared.inputText},
                     {"threads", context.threads()},
                     {"wall", lab::toJson(time)},
                     {"cpu", lab::toJson(cpuTime)},
                     {"flops_per_run", prepared.flops},
                     {"gflops", gflops},
                     {"peak_rss_bytes", peakBytes},
                     {"arena_bytes", memory.arenaBytes},
                     {"live_bytes", memory.liveBytes},
                     {"constant_bytes", memory.constantBytes},
                     {"scratch_bytes", memory.scratchBytes},
                     {"verified", verification.verified},
                     {"verification", verification.text}});
  return success;
}

} // namespace lathe::cli
