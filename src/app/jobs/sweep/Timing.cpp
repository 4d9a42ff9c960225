#include "jobs/sweep/Timing.h"

#include "lab/compare/Runner.h"
#include "lab/machine/Disturbance.h"

#include <algorithm>
#include <deque>
#include <filesystem>

namespace lathe::jobs {
namespace {

namespace fs = std::filesystem;

/// Seconds from which on a run hardly suffers from caches that other rows have emptied.
constexpr double shortRun = 0.05;

/// A row for the timing engine: a process that runs its package.
class RowSide : public lab::TimedSide {
public:
  RowSide(SweepRow &row, const process::TemporaryDirectory &folder, lab::HeldResources &held, double roundSeconds)
      : row(row), spec(lab::runnerNamed(row.runtime.empty() ? "lathe" : row.runtime, "sweep")), folder(folder),
        held(held), roundSeconds(roundSeconds) {}

  bool running() const override { return row.reason.empty(); }

  void startAgain() override {
    end();
    held.hold(row.resources); // the new process inherits them
    lab::RunnerSpec here = spec;
    here.command = folder.keepingFilesHere(here.command);
    auto started = lab::Runner::start(here);
    if (!started)
      return fail(started.failure());
    runner.emplace(std::move(*started));
    if (row.runtime.empty())
      loadCopy();
    else
      take(runner->load(fs::absolute(row.model.model).string(), row.model.threads));
    if (running())
      take(runner->setInputs(row.inputs));
    if (running())
      runner->pause();
  }

  void estimate() override {
    inTurn([&] {
      if (auto first = take(runner->time(0, 1)))
        once = first->seconds.front();
      if (running() && once < shortRun) // caches are warm now: runs once more
        if (auto more = take(runner->time(1, 3)))
          once = *std::min_element(more->seconds.begin(), more->seconds.end());
    });
  }

  void takeTurn() override {
    inTurn([&] {
      int runs = int(std::clamp(roundSeconds / std::max(once, 1e-7), 1.0, 1000.0));
      auto timing = take(runner->time(once < shortRun ? 1 : 0, runs));
      if (!timing)
        return;
      row.rounds.push_back(std::move(timing->seconds));
      row.counts.push_back(timing->counts);
    });
  }

  const std::vector<std::vector<double>> &rounds() const override { return row.rounds; }

  void end() {
    if (!runner)
      return;
    cpuOfEnded += runner->usage().cpuSeconds;
    row.peakBytes = std::max(row.peakBytes, runner->usage().peakResidentBytes);
    runner->resume();
    runner->quit();
    runner.reset();
  }
  double cpuSeconds() const { return cpuOfEnded + (runner ? runner->usage().cpuSeconds : 0); }

private:
  SweepRow &row;
  const lab::RunnerSpec spec;
  const process::TemporaryDirectory &folder;
  lab::HeldResources &held;
  double roundSeconds, once = 0, cpuOfEnded = 0;
  std::optional<lab::Runner> runner;

  /// Times depend on where the page cache holds a mapped package, so each start maps a new copy.
  void loadCopy() {
    std::string copy = (folder.path / "start.lathe").string();
    fs::copy_file(row.package, copy, fs::copy_options::overwrite_existing);
    take(runner->load(copy, row.model.threads));
    fs::remove(copy);
  }

  void fail(const process::Failure &failure) {
    row.failed = row.ended = true;
    row.reason = "not timed: " + failure.message();
  }
  template <class T> std::optional<T> take(process::Result<T> result) {
    if (result)
      return std::move(*result);
    fail(result.failure());
    return std::nullopt;
  }
  template <class Work> void inTurn(Work work) {
    if (!running() || !runner)
      return;
    held.hold(row.resources);
    runner->resume();
    work();
    row.held = held.readBack();
    if (running())
      runner->pause();
  }
};

/// The row of a native runtime that runs the model of `row` on as many threads with the same resources; null if none
/// was timed.
const SweepRow *runtimeOf(const SweepRow &row, const std::vector<SweepRow> &rows) {
  auto found = std::find_if(rows.begin(), rows.end(), [&](const SweepRow &other) {
    return !other.runtime.empty() && !other.foreignBuild && other.timed() && other.model.model == row.model.model &&
           other.model.threads == row.model.threads && other.resources == row.resources;
  });
  return found == rows.end() ? nullptr : &*found;
}

/// Compares every timed row with the first row, and with the runtime of its model.
void judge(std::vector<SweepRow> &rows, const std::vector<size_t> &starts, const lab::TurnOptions &options) {
  auto first = std::find_if(rows.begin(), rows.end(), [](const SweepRow &row) { return row.timed(); });
  for (SweepRow &row : rows) {
    lab::JudgedPair before = row.speedup.value_or(lab::JudgedPair());
    row.speedup.reset();
    row.overRuntime.reset();
    if (!row.timed())
      continue;
    std::vector<double> pooled;
    for (const auto &round : row.rounds)
      pooled.insert(pooled.end(), round.begin(), round.end());
    row.time = lab::summarize(pooled);
    if (&row != &*first && !row.foreignBuild)
      row.speedup = lab::judgePair({first->rounds, {}}, {row.rounds, {}}, starts, options, before);
    if (const SweepRow *runtime = row.runtime.empty() ? runtimeOf(row, rows) : nullptr)
      row.overRuntime = lab::judgePair({runtime->rounds, {}}, {row.rounds, {}}, starts, options);
  }
}

} // namespace

SweepTiming timeRows(std::vector<SweepRow> &rows, const lab::TurnOptions &given,
                     const process::TemporaryDirectory &folder, lab::HeldResources &held,
                     const std::function<void(const std::string &what, double secondsLeft)> &progress,
                     const std::function<void(const SweepTiming &soFar)> &afterStart) {
  lab::TurnOptions options = given;
  std::deque<RowSide> sides;
  std::vector<lab::TimedSide *> pointers;
  int threads = 1;
  double began = lab::steadySeconds();
  for (SweepRow &row : rows) {
    if (!row.reason.empty())
      continue;
    sides.emplace_back(row, folder, held, options.roundSeconds).startAgain();
    pointers.push_back(&sides.back());
    threads = std::max(threads, row.model.threads);
  }
  SweepTiming timing;
  if (pointers.empty())
    return timing;
  options.startSeconds = lab::steadySeconds() - began;
  lab::FullSpeed fullSpeed(threads);
  // A reading under one row's resources says nothing of another's.
  if (std::all_of(rows.begin(), rows.end(), [&](auto &row) { return row.resources == rows.front().resources; }))
    options.fullSpeed = &fullSpeed;
  lab::DisturbanceMeter meter([&] {
    double seconds = lab::ownCpuSeconds() + held.cpuSeconds();
    for (const RowSide &side : sides)
      seconds += side.cpuSeconds();
    return seconds;
  });
  auto conclude = [&](const std::vector<size_t> &starts) {
    timing.starts = starts;
    timing.disturbance = meter.read();
    judge(rows, starts, options);
  };
  lab::TurnWatch watch;
  watch.decided = [&](const std::vector<size_t> &) {
    return std::all_of(rows.begin(), rows.end(), [](auto &row) { return !row.speedup || row.speedup->decidedAfter; });
  };
  watch.afterStart = [&](const std::vector<size_t> &starts) {
    conclude(starts);
    afterStart(timing);
  };
  watch.afterRound = [&](int start, int round, double left) {
    progress(fmt::format("start {}, round {}", start, round), left);
  };
  conclude(lab::takeTurns(pointers, options, watch));
  held.release();
  for (RowSide &side : sides)
    side.end();
  return timing;
}

} // namespace lathe::jobs
