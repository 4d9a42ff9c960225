#include "cli/FrontVerbs.h"
#include "cli/flags/RunFlags.h"
#include "jobs/Progress.h"
#include "jobs/Sizes.h"
#include "jobs/Terminal.h"
#include "lab/StoreRecords.h"
#include "lab/judging/Statistics.h"
#include "lab/machine/Counters.h"
#include "lab/machine/Disturbance.h"
#include "package/OperationCount.h"
#include "support/Interrupt.h"
#include "support/Text.h"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <span>

namespace lathe::cli {
namespace {

using nlohmann::json;

struct BenchFlags {
  ModelOptions model;
  InputOptions inputs;
  RecordOptions record;
  lab::StoppingRule rule;
  std::string batches;                // --batch, a list
  size_t repetitions = 0, warmUp = 3; // repetitions 0: until the rule for repetitions is met

  void add(Options &options) {
    addModel(options, model, ModelUse::run);
    addLoading(options, model);
    addInputs(options, inputs, "random", false);
    addBatches(options, batches);
    HelpSection section(options, "Measuring");
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
    addRecord(options, record, &model);
    options.addShowing();
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

/// Measurements, one value for each run: a run takes far longer than reading the counters.
struct Runs {
  std::vector<double> wall, cpu; // seconds
  std::vector<lab::Counts> counts;
  std::string uncounted; // why counts are missing
  std::optional<lab::DisturbanceMeter> meter;
};

/// Appends a run to `runs`, with `mutex` locked after the clocks were read.
void timeRuns(runtime::Context &context, const BenchFlags &flags, Runs &runs, std::mutex &mutex) {
  for (size_t i = 0; i < flags.warmUp; ++i)
    context.run();
  lab::Counters counters;
  runs.uncounted = counters.uncounted();
  Progress progress("bench");
  using Clock = std::chrono::steady_clock;
  runs.meter.emplace();
  Clock::time_point start = Clock::now();
  auto seconds = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
  while (flags.repetitions ? runs.wall.size() < flags.repetitions : !flags.rule.satisfied(runs.wall, seconds(start))) {
    lab::CounterReading countersBefore = counters.read();
    Clock::time_point before = Clock::now();
    context.run();
    double wall = seconds(before);
    lab::Counts counts = lab::between(countersBefore, counters.read());
    {
      std::lock_guard lock(mutex);
      runs.wall.push_back(wall);
      runs.counts.push_back(counts);
      runs.cpu.push_back(double(counts.cpuNs.value_or(0)) * 1e-9);
    }
    if (flags.repetitions)
      progress.update("run", runs.wall.size(), flags.repetitions);
    else
      progress.updateUntil(fmt::format("run {}", runs.wall.size()), flags.rule.maxSeconds - seconds(start));
  }
}

/// Stores the runs as `point`.
void record(Recording &recording, store::Point point, const Runs &runs, bool finished) {
  if (!recording.on())
    return;
  point.disturbance = runs.meter->read();
  std::vector<store::Sample> samples(runs.wall.size());
  for (size_t i = 0; i < samples.size(); ++i)
    samples[i] = lab::samplesOf({{runs.wall[i]}}, {runs.counts[i]})[0][0];
  if (point.status != store::PointStatus::failed) // no time without a verdict
    point.rounds.push_back(std::move(samples));
  recording.add({point});
  if (finished)
    recording.finish(point.disturbance); // after each size, so that the kept points are complete
}

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

/// The measurements at one size.
struct Measured {
  std::string inputs, extents, variant; // as in Prepared
  std::string mistrust;                 // not timed because of it; "" otherwise
  std::string note;                     // of the operations that the package counts, a line or ""
  Runs runs;
  lab::Summary wall, cpu;
  double flops = 0;
  runtime::MemoryUse memory;
  uint64_t peakBytes = 0; // peak memory of running the package so far
  store::Point point;     // the point without its runs
  bool finished = false;  // timing is complete
  bool kept = false;      // stored by the verb, if finished

  double gflops() const { return flops / wall.median * 1e-9; }
};

/// All measurements. A clean-up reads them in another thread.
struct AllSizes {
  std::mutex mutex; // protects `sizes`
  std::condition_variable wasKept;
  std::vector<Measured> sizes;
};

/// Computes the figures of a size from its runs.
void conclude(Measured &measured, bool finished) {
  measured.peakBytes = peakResidentBytes(); // before memory is used for figures
  measured.wall = lab::summarize(measured.runs.wall);
  measured.cpu = lab::summarize(measured.runs.cpu);
  measured.finished = finished;
}

/// Measures one size, which it appends to `all`.
const Measured &measureAt(Prepared &prepared, const BenchFlags &flags, const Verification &verification,
                          Recording &recording, AllSizes &all) {
  bindAndRun(prepared, flags.inputs, flags.model.shapes);
  Measured fresh;
  fresh.inputs = prepared.inputText;
  fresh.extents = prepared.extents;
  fresh.variant = prepared.variant;
  fresh.mistrust = mistrusted(prepared);
  fresh.flops = prepared.flops;
  fresh.note = package::paddingNote(prepared.model->options());
  fresh.memory = prepared.context->memory();
  fresh.point = modelPoint(flags.model, flags.inputs, prepared, verification);
  std::unique_lock lock(all.mutex);
  Measured &measured = all.sizes.emplace_back(std::move(fresh));
  if (!measured.mistrust.empty()) // no timing without a verified answer (decision 9)
    return measured;
  lock.unlock();
  timeRuns(*prepared.context, flags, measured.runs, all.mutex);
  lock.lock();
  conclude(measured, true);
  lock.unlock(); // a store may wait for its server, and registers a clean-up
  record(recording, measured.point, measured.runs, true);
  lock.lock();
  measured.kept = true;
  all.wasKept.notify_all();
  return measured;
}

json toJson(const Measured &measured) {
  return {{"inputs", measured.inputs},
          {"extents", measured.extents},
          {"variant", measured.variant},
          {"wall", lab::toJson(measured.wall)},
          {"cpu", lab::toJson(measured.cpu)},
          {"flops_per_run", measured.flops},
          {"gflops", measured.gflops()},
          {"peak_rss_bytes", measured.peakBytes},
          {"arena_bytes", measured.memory.arenaBytes},
          {"live_bytes", measured.memory.liveBytes},
          {"constant_bytes", measured.memory.constantBytes},
          {"scratch_bytes", measured.memory.scratchBytes}};
}

std::string oneText(const Measured &measured, const TableStyle &style) {
  auto bytes = [](auto count) { return bytesText(static_cast<double>(count)); };
  return timesTable(measured.wall, measured.cpu, style) +
         fmt::format("{:.2f} GFLOPS ({} a run)\n", measured.gflops(), flopsText(measured.flops)) +
         (measured.note.empty() ? "" : measured.note + "\n") + countsText(measured.runs) +
         fmt::format("peak memory {}: constants {}, arena {}, scratch {}\n", bytes(measured.peakBytes),
                     bytes(measured.memory.constantBytes), bytes(measured.memory.arenaBytes),
                     bytes(measured.memory.scratchBytes));
}

/// A row for each size.
std::string sizesTable(std::span<const Measured> sizes, const TableStyle &style) {
  Table table({textColumn("inputs").shrink(16), textColumn("variant").drop(1), numberColumn("median", "ms"),
               numberColumn("min", "ms").drop(2), numberColumn("std", "ms").drop(3), numberColumn("GFLOPS"),
               numberColumn("arena").drop(4), numberColumn("runs").drop(5)});
  for (const Measured &size : sizes)
    table.row({size.inputs, size.variant, millisecondsText(size.wall.median), millisecondsText(size.wall.min),
               millisecondsText(size.wall.standardDeviation), fmt::format("{:.2f}", size.gflops()),
               bytesText(static_cast<double>(size.memory.arenaBytes)), std::to_string(size.wall.count)});
  return table.str(style);
}

/// Data that all sizes share.
struct Bench {
  const BenchFlags &flags;
  const Options &options;
  const Prepared &prepared;
  const Verification &verification;
  Recording &recording;
  bool several; // several sizes were requested; an interrupted verb may have measured only one
};

void report(const Bench &bench, std::span<const Measured> measured, bool finished) {
  int threads = bench.prepared.context->threads();
  std::string model = bench.flags.model.model, target = bench.prepared.model->target();
  const Measured &first = measured.front();
  if (bench.options.printsText()) {
    std::string what = bench.several ? counted(int64_t(measured.size()), "size")
                                     : first.inputs + (first.variant.empty() ? "" : ", variant " + first.variant);
    std::string runs = bench.several ? "" : ", " + counted(int64_t(first.wall.count), "run");
    TableStyle style = bench.options.tableStyle();
    std::cout << fmt::format("{} ({}), {}{}, {}\n", printable(model), printable(what), counted(threads, "thread"), runs,
                             target)
              << (bench.several ? sizesTable(measured, style) : oneText(first, style))
              << "outputs: " << bench.verification.text << "\n"
              << bench.recording.line();
  }
  json document = bench.several ? json{{"sizes", json::array()}} : toJson(first);
  if (bench.several)
    for (const Measured &size : measured)
      document["sizes"].push_back(toJson(size));
  document["model"] = model;
  document["target"] = target;
  document["threads"] = threads;
  document["verified"] = bench.verification.verified;
  document["verification"] = bench.verification.text;
  document["finished"] = finished;
  bench.options.writeJson(document);
}

/// Stores and prints the measurements before a signal.
void reportInterrupted(const Bench &bench, AllSizes &all) {
  std::unique_lock lock(all.mutex);
  // Waits as long as storing a size in a file takes. A server may take longer, but its own clean-up stores the points.
  all.wasKept.wait_for(lock, std::chrono::seconds(2),
                       [&] { return all.sizes.empty() || !all.sizes.back().finished || all.sizes.back().kept; });
  lock.release(); // keeps the lock until the process ends, so that nothing more is measured
  std::span<Measured> sizes = all.sizes;
  if (!sizes.empty() && sizes.back().runs.wall.empty())
    sizes = sizes.first(sizes.size() - 1);
  if (sizes.empty())
    return;
  Progress::endLine();
  if (Measured &last = sizes.back(); !last.finished) {
    conclude(last, false);
    record(bench.recording, last.point, last.runs, false);
  }
  report(bench, sizes, false);
  std::cout.flush(); // the process ends without destructors
}

} // namespace

int benchVerb(const Arguments &arguments) {
  BenchFlags flags;
  Options options(
      "bench",
      "Time single runs with bound buffers, layout conversions included, until the median is known well enough.\n"
      "When interrupted, print and keep what was measured.",
      "  lathe bench resnet50.lathe --threads 2\n"
      "  lathe bench zoo:mobilenet_v2 --repetitions 100 --json bench.json\n"
      "  lathe bench model.onnx --batch 8 --max-seconds 30\n"
      "  lathe bench model.onnx --batch 1,2,4,8..64               one package, a row for each batch\n"
      "  lathe bench model.onnx --shape x=1x3x224x224 --shape x=1x3x320x320\n");
  flags.add(options);
  options.parseAll(arguments);
  ModelOptions &model = flags.model;
  std::vector<Size> sizes = sizesOf(flags.batches, model.shapes);
  json settings = flags.settings();
  settings["batch"] = flags.batches;
  Recording recording(flags.record, store::ExperimentKind::bench, "bench", arguments, settings);

  if (severalShapes(model.shapes))
    model.shapes.clear(); // the package includes all shapes
  Prepared prepared = load(model);
  Verification verification = verificationOf(model, *prepared.model);
  Bench bench{flags, options, prepared, verification, recording, sizes.size() > 1};
  AllSizes all;
  all.sizes.reserve(sizes.size()); // a clean-up may read one while the next is appended
  {
    Cleanup interrupted([&] { reportInterrupted(bench, all); });
    for (const Size &size : sizes) {
      BenchFlags one = flags;
      one.inputs.batch = size.batch;
      one.model.shapes = size.shapes;
      const Measured &at = measureAt(prepared, one, verification, recording, all);
      if (at.mistrust.empty())
        continue;
      say(fmt::format("lathe bench: not timed, the outputs are mistrusted: {}", at.mistrust));
      options.writeJson({{"model", model.model}, {"inputs", at.inputs}, {"mistrusted", at.mistrust}});
      return failedVerdict;
    }
  }
  report(bench, all.sizes, true);
  return success;
}

} // namespace lathe::cli
