#include "jobs/bench/Bench.h"

#include "jobs/Progress.h"
#include "jobs/Sizes.h"
#include "jobs/Terminal.h"
#include "lab/StoreRecords.h"
#include "lab/machine/Disturbance.h"
#include "lab/resources/HeldResources.h"
#include "package/OperationCount.h"
#include "support/Interrupt.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lathe::jobs {
namespace {

/// Computes the figures of a size from its runs.
void conclude(BenchedSize &size, bool finished) {
  size.peakBytes = peakResidentBytes(); // before memory is used for figures
  size.wall = lab::summarize(size.wallSeconds);
  size.cpu = lab::summarize(size.cpuSeconds);
  size.finished = finished;
}

/// One run of the job. A clean-up reads what was measured in another thread.
class BenchRun {
public:
  BenchRun(const BenchJob &given, const BenchReport &report)
      : sizes(sizesOf(given.batches, given.model.shapes)),
        recording(given.record, store::ExperimentKind::bench, "bench", given.command, given.settings()),
        job(withoutSeveralShapes(given)), report(report), resources(job.resources.attempted().front()),
        prepared(load(job.model, [this] { held.hold(resources); })) {
    sayIfCrowded(job.model.threads, resources.cpus.size());
    bench.resources = resources.text();
    bench.held = held.readBack();
    bench.threads = prepared.context->threads();
    bench.target = prepared.model->target();
    bench.verification = verificationOf(job.model, *prepared.model);
    bench.several = sizes.size() > 1;
    bench.sizes.reserve(sizes.size()); // a clean-up may read one while the next is appended
  }

  bool run() {
    bool trusted = true;
    {
      Cleanup cleanup([this] { reportInterrupted(); });
      for (size_t i = 0; i < sizes.size() && trusted; ++i)
        trusted = measure(sizes[i]);
    }
    if (!trusted)
      say(fmt::format("lathe bench: not timed, the outputs are mistrusted: {}", bench.sizes.back().mistrust));
    bench.kept = recording.line();
    report(bench, true);
    return trusted;
  }

private:
  std::vector<Size> sizes;
  Recording recording;
  BenchJob job;
  const BenchReport &report;
  lab::Resources resources;
  lab::HeldResources held; // from the loading of the package on
  Prepared prepared;
  std::optional<lab::DisturbanceMeter> meter; // of the last size
  std::mutex mutex;                           // protects the members below
  std::condition_variable wasKept;
  Bench bench;
  store::Point point; // of the last size, without its runs
  size_t kept = 0;    // finished sizes that are stored

  /// Measures one size, which it appends. Returns false if its outputs are mistrusted.
  bool measure(const Size &size) {
    job.inputs.batch = size.batch;
    job.model.shapes = size.shapes;
    bindAndRun(prepared, job.inputs, size.shapes);
    BenchedSize fresh;
    fresh.inputs = prepared.inputText;
    fresh.extents = prepared.extents;
    fresh.variant = prepared.variant;
    fresh.mistrust = mistrusted(prepared);
    fresh.flops = prepared.flops;
    fresh.note = package::paddingNote(prepared.model->options());
    fresh.memory = prepared.context->memory();
    std::unique_lock lock(mutex);
    point = modelPoint(job.model, job.inputs, prepared, bench.verification);
    lab::setResources(point, bench.resources, bench.held);
    BenchedSize &measured = bench.sizes.emplace_back(std::move(fresh));
    if (!measured.mistrust.empty()) // no timing without a verified answer (decision 9)
      return false;
    lock.unlock();
    timeRuns(measured);
    held.readBack(); // an error if a companion has ended
    lock.lock();
    conclude(measured, true);
    lock.unlock(); // a store may wait for its server, and registers a clean-up
    record(measured);
    lock.lock();
    ++kept;
    wasKept.notify_all();
    return true;
  }

  /// Appends runs, with the mutex locked after the clocks were read.
  void timeRuns(BenchedSize &size) {
    for (size_t i = 0; i < job.warmUp; ++i)
      prepared.context->run();
    lab::Counters counters;
    size.uncounted = counters.uncounted();
    Progress progress("bench");
    using Clock = std::chrono::steady_clock;
    meter.emplace([this] { return lab::ownCpuSeconds() + held.cpuSeconds(); });
    Clock::time_point start = Clock::now();
    auto seconds = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
    const std::vector<double> &runs = size.wallSeconds;
    while (job.repetitions ? runs.size() < job.repetitions : !job.rule.satisfied(runs, seconds(start))) {
      lab::CounterReading countersBefore = counters.read();
      Clock::time_point before = Clock::now();
      prepared.context->run();
      double wall = seconds(before);
      lab::Counts counts = lab::between(countersBefore, counters.read());
      {
        std::lock_guard lock(mutex);
        size.wallSeconds.push_back(wall);
        size.counts.push_back(counts);
        size.cpuSeconds.push_back(double(counts.cpuNs.value_or(0)) * 1e-9);
      }
      if (job.repetitions)
        progress.update("run", runs.size(), job.repetitions);
      else
        progress.updateUntil(fmt::format("run {}", runs.size()), job.rule.maxSeconds - seconds(start));
    }
  }

  /// Stores the runs of the last size.
  void record(const BenchedSize &size) {
    if (!recording.on())
      return;
    point.disturbance = meter->read();
    std::vector<store::Sample> samples(size.wallSeconds.size());
    for (size_t i = 0; i < samples.size(); ++i)
      samples[i] = lab::samplesOf({{size.wallSeconds[i]}}, {size.counts[i]})[0][0];
    if (point.status != store::PointStatus::failed) // no time without a verdict
      point.rounds.push_back(std::move(samples));
    recording.add({point});
    if (size.finished)
      recording.finish(point.disturbance); // after each size, so that the kept points are complete
  }

  /// Stores and reports what was measured before a signal.
  void reportInterrupted() {
    std::unique_lock lock(mutex);
    // Waits as long as storing a size in a file takes. A server may take longer, but its own clean-up stores the
    // points.
    wasKept.wait_for(lock, std::chrono::seconds(2),
                     [&] { return bench.sizes.empty() || !bench.sizes.back().finished || kept == bench.sizes.size(); });
    lock.release(); // keeps the lock until the process ends, so that nothing more is measured
    Bench soFar = bench;
    if (!soFar.sizes.empty() && soFar.sizes.back().wallSeconds.empty())
      soFar.sizes.pop_back();
    if (soFar.sizes.empty())
      return;
    Progress::endLine();
    if (BenchedSize &last = soFar.sizes.back(); !last.finished) {
      conclude(last, false);
      record(last);
    }
    soFar.kept = recording.line();
    report(soFar, false);
  }
};

} // namespace

nlohmann::json BenchJob::settings() const {
  return {{"warm_up", warmUp},
          {"repetitions", repetitions},
          {"max_seconds", rule.maxSeconds},
          {"interval", rule.relativeHalfWidth},
          {"fill", inputs.fill},
          {"seed", inputs.seed},
          {"batch", batches}};
}

BenchJob withoutSeveralShapes(BenchJob job) {
  if (severalShapes(job.model.shapes))
    job.model.shapes.clear();
  return job;
}

bool bench(const BenchJob &job, const BenchReport &report) { return BenchRun(job, report).run(); }

} // namespace lathe::jobs
