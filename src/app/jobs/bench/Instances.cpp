#include "jobs/bench/Instances.h"

#include "jobs/KeptWhenInterrupted.h"
#include "jobs/Progress.h"
#include "jobs/Sizes.h"
#include "jobs/Terminal.h"
#include "lab/StoreRecords.h"
#include "lab/resources/HeldResources.h"
#include "lab/resources/Placement.h"
#include "process/TemporaryDirectory.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace lathe::jobs {
namespace {

/// The numbers of --instances, and 1, ascending.
std::set<int64_t> countsOf(const BenchJob &job, int threads) {
  std::set<int64_t> counts{1};
  for (int64_t count : parseCounts("--instances", job.instances)) {
    require(count <= 1024 && canDivide(threads, int(count)),
            "--instances {}: {} instances do not divide {} threads: expected a divisor or a multiple, at most 1024",
            job.instances, count, threads);
    counts.insert(count);
  }
  return counts;
}

lab::CorunOptions timingOf(const BenchJob &job) {
  lab::CorunOptions options;
  options.together = false;
  options.maxSeconds = job.rule.maxSeconds;
  return options;
}

nlohmann::json settingsOf(const BenchJob &job) {
  nlohmann::json settings = timingSettings(timingOf(job));
  settings.update(
      {{"instances", job.instances}, {"fill", job.inputs.fill}, {"seed", job.inputs.seed}, {"batch", job.batches}});
  return settings;
}

/// One run of the job.
class InstancesRun {
public:
  InstancesRun(const BenchJob &given, const InstancesReport &report)
      : sizes(sizesOf(given.batches, given.model.shapes)),
        recording(given.record, store::ExperimentKind::corun, "bench", given.command, settingsOf(given)),
        job(withoutSeveralShapes(given)), report(report), resources(job.resources.attempted().front()),
        cpus(resources.cpus.empty() ? lab::CpuAffinity::read() : resources.cpus),
        prepared(load(job.model, [this] { held.hold(resources); })), progress("bench"),
        kept([this](const InstancesBench &soFar) { interrupted(soFar); }) {
    bench.threads = prepared.context->threads();
    require(size_t(bench.threads) <= cpus.size(), "--instances: expected a CPU for each of {} threads, got {}",
            bench.threads, cpus.size());
    cpus.resize(size_t(bench.threads));
    bench.cpus = cpus;
    counts = countsOf(job, bench.threads);
    bench.resources = resources.text();
    bench.held = held.readBack();
    bench.target = prepared.model->target();
    bench.verification = verificationOf(job.model, *prepared.model);
    bench.several = sizes.size() > 1;
    recording.plan(counts.size() * sizes.size());
  }

  bool run() {
    bool trusted = true;
    for (size_t i = 0; i < sizes.size() && trusted; ++i)
      trusted = measure(sizes[i]);
    kept.forget();
    if (bench.isMistrusted())
      say(fmt::format("lathe bench: not timed, the outputs are mistrusted: {}", bench.sizes.back().mistrust));
    else
      recording.finish(bench.sizes.back().result.disturbance);
    bench.kept = recording.line();
    report(bench, true);
    return trusted && std::all_of(bench.sizes.begin(), bench.sizes.end(), isRight);
  }

private:
  std::vector<Size> sizes;
  Recording recording;
  BenchJob job;
  const InstancesReport &report;
  lab::Resources resources;
  NumberList cpus;         // of the threads
  lab::HeldResources held; // from the loading of the package on
  Prepared prepared;
  std::set<int64_t> counts; // of instances
  process::TemporaryDirectory folder{"bench-inputs"};
  InstancesBench bench;
  store::Point point; // of the last size, without its move and its runs
  Progress progress;
  KeptWhenInterrupted<InstancesBench> kept; // declared last: its clean-up uses the other members

  static bool isRight(const InstancesAtSize &size) {
    return std::all_of(size.result.members.begin(), size.result.members.end(),
                       [](const lab::CorunResult::Member &member) { return member.doubt().empty(); });
  }

  /// Measures one size, which it appends. Returns false if its outputs are mistrusted.
  bool measure(const Size &size) {
    job.inputs.batch = size.batch;
    job.model.shapes = size.shapes;
    bindAndRun(prepared, job.inputs, size.shapes);
    InstancesAtSize &measured = bench.sizes.emplace_back();
    measured.inputs = prepared.inputText;
    measured.extents = prepared.extents;
    measured.variant = prepared.variant;
    measured.mistrust = mistrusted(prepared);
    if (!measured.mistrust.empty())
      return false;
    NumberList slots(cpus.size());
    std::iota(slots.begin(), slots.end(), 0);
    for (int64_t count : counts)
      measured.moves.push_back({slots, int(count), size.batch});
    point = modelPoint(job.model, job.inputs, prepared, bench.verification);
    lab::setResources(point, bench.resources, bench.held);
    ExpectedRun expected = expectedRun(prepared.package, prepared.model, job.inputs, size.shapes,
                                       folder.path / std::to_string(bench.sizes.size()));
    std::vector<lab::CorunMember> members;
    for (const CorunMove &move : measured.moves)
      members.push_back(memberOf(prepared.package, expected, move, cpus));
    measured.result = lab::corun(members, timing(measured));
    held.readBack(); // an error if a companion has ended
    recording.add(pointsOf(measured));
    ++bench.stored;
    kept.update(bench);
    return true;
  }

  lab::CorunOptions timing(InstancesAtSize &size) {
    lab::CorunOptions options = timingOf(job);
    options.otherSeconds = [this] { return held.cpuSeconds(); };
    options.progress = [this](int start, int round) {
      progress.update(fmt::format("size {} of {}: start {}, round {}", bench.sizes.size(), sizes.size(), start, round),
                      0, 0);
    };
    options.afterStart = [this, &size](const lab::CorunResult &soFar) {
      size.result = soFar;
      kept.update(bench);
    };
    return options;
  }

  std::vector<store::Point> pointsOf(const InstancesAtSize &size) const {
    std::vector<store::Point> points;
    for (size_t i = 0; i < size.moves.size(); ++i) {
      const lab::CorunResult::Member &member = size.result.members[i];
      store::Point &one = points.emplace_back(point);
      setMove(one, size.moves[i]);
      if (!member.doubt().empty()) {
        one.status = member.wrong.empty() ? store::PointStatus::mistrusted : store::PointStatus::failed;
        one.reason = member.doubt();
      }
      one.disturbance = size.result.disturbance;
      setRuns(one, member.alone, size.moves[i], size.result.starts);
    }
    return points;
  }

  void interrupted(const InstancesBench &soFar) {
    InstancesBench shown = soFar;
    if (shown.stored < shown.sizes.size())
      recording.add(pointsOf(shown.sizes.back()));
    shown.kept = recording.line();
    report(shown, false);
  }
};

} // namespace

bool benchInstances(const BenchJob &job, const InstancesReport &report) { return InstancesRun(job, report).run(); }

} // namespace lathe::jobs
