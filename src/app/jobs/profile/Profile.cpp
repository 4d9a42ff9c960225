#include "jobs/profile/Profile.h"

#include "jobs/Progress.h"
#include "jobs/Terminal.h"
#include "jobs/profile/KernelGraph.h"
#include "lab/judging/NodeInstruction.h"
#include "lab/judging/Statistics.h"
#include "lab/machine/Disturbance.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace lathe::jobs {
namespace {

ProfiledRun sampleOf(const runtime::RunProfile &profile, size_t instructions) {
  ProfiledRun sample{std::vector<double>(instructions, 0.0), static_cast<double>(profile.overhead) * 1e-9,
                     static_cast<double>(profile.end - profile.begin) * 1e-9};
  for (const runtime::InstructionTime &time : profile.times)
    sample.rows[time.instruction] += static_cast<double>(time.end - time.begin) * 1e-9;
  return sample;
}

/// lab::fastestQuarter
std::vector<size_t> countingRuns(const std::vector<ProfiledRun> &samples) {
  std::vector<double> whole;
  for (const ProfiledRun &sample : samples)
    whole.push_back(sample.whole);
  return lab::fastestQuarter(whole);
}

/// Mean of the runs that count: rows and overhead still add up to the whole, and what disturbed
/// runs from outside is left out.
ProfiledRun meanOf(const std::vector<ProfiledRun> &samples) {
  std::vector<size_t> chosen = countingRuns(samples);
  ProfiledRun mean{std::vector<double>(samples[0].rows.size(), 0.0)};
  double weight = 1.0 / static_cast<double>(chosen.size());
  for (size_t run : chosen) {
    for (size_t i = 0; i < mean.rows.size(); ++i)
      mean.rows[i] += samples[run].rows[i] * weight;
    mean.overhead += samples[run].overhead * weight;
    mean.whole += samples[run].whole * weight;
  }
  return mean;
}

/// The instruction that computes `node` last, or an Error that says what there is.
uint32_t instructionOf(const runtime::Context &context, const std::string &node) {
  std::optional<uint32_t> found = lab::instructionOf(context, node);
  require(found.has_value(),
          "--until {}: no node of the plan has that name (folded away, or misspelt; lathe profile lists them)", node);
  return *found;
}

/// Measures the present peaks of f32 and of the types of the kernels' factors, and keeps the larger ones.
void measurePeaks(std::map<ElementType, double> &peaks, const runtime::Context &context) {
  std::set<ElementType> types{ElementType::f32};
  for (size_t i = 0; i < context.instructionCount(); ++i)
    types.insert(factorsOf(context.instruction(i)));
  for (ElementType type : types)
    if (double peak = lab::measurePeak(context.threads(), type); peak > 0) // 0: computed as f32
      peaks[type] = std::max(peaks[type], peak);
}

/// Means of traced runs, which come after those that are profiled.
std::vector<SlotUse> tracedUse(runtime::Context &context, runtime::RunOptions run) {
  constexpr int runs = 5;
  run.trace = true;
  run.traceLimit = TraceRuns::limitOf(context.threads());
  std::vector<SlotUse> means(static_cast<size_t>(context.threads()));
  for (int i = 0; i < runs; ++i) {
    context.run(run);
    std::vector<SlotUse> uses = slotUse(context.trace(), context.profile());
    if (uses.size() != means.size())
      return {};
    for (size_t slot = 0; slot < means.size(); ++slot) {
      means[slot].busy += uses[slot].busy / runs;
      means[slot].waiting += uses[slot].waiting / runs;
      means[slot].idle += uses[slot].idle / runs;
    }
  }
  return means;
}

void measure(Profile &measured, const ProfileJob &options, Recording &recording) {
  runtime::Context &context = *measured.prepared.context;
  runtime::RunOptions run;
  run.profile = true;
  if (!options.until.empty())
    run.until = instructionOf(context, options.until);
  run.trace = !options.trace.empty();
  run.traceLimit = options.traceEvents ? options.traceEvents : TraceRuns::limitOf(context.threads());
  Progress progress("profile");
  // The limits are of the same minutes: clocks and neighbours change within an hour. The better of before and after.
  // Which may be measured now.
  lab::machineCeilings([](const std::string &line) { say("lathe profile: " + line); });
  measurePeaks(measured.peaks, context);
  measured.clock = lab::measureClock();
  context.run(run);
  std::vector<ProfiledRun> samples;
  lab::DisturbanceMeter meter;
  for (size_t i = 0; i < options.repetitions; ++i) {
    context.run(run);
    samples.push_back(sampleOf(context.profile(), context.instructionCount()));
    if (run.trace)
      measured.traced.add(context);
    run.trace = run.trace && !measured.traced.isFull();
    progress.update("run", i + 1, options.repetitions);
  }
  if (context.threads() > 1)
    measured.slots = tracedUse(context, run);
  measured.least.assign(context.instructionCount(), INFINITY);
  for (const ProfiledRun &sample : samples)
    for (size_t i = 0; i < measured.least.size(); ++i)
      measured.least[i] = std::min(measured.least[i], sample.rows[i]);
  measured.count = run.until >= 0 ? static_cast<size_t>(run.until) + 1 : context.instructionCount();
  store::Point whole = modelPoint(options.model, options.inputs, measured.prepared, measured.verification);
  if (!options.until.empty())
    whole.setting.extra["until"] = options.until;
  store::Disturbance disturbance = meter.read();
  measured.graph = kernelGraph(context, measured.count);
  measured.points =
      profilePoints(whole, context, measured.count, samples, disturbance, measured.predicts() ? measured.clock : 0);
  recording.addDetail("graph", measured.graph);
  recording.add(measured.points);
  recording.finish(disturbance);
  measured.counts.assign(samples.size(), false);
  for (size_t index : countingRuns(samples))
    measured.counts[index] = true;
  measured.mean = meanOf(samples);
  measurePeaks(measured.peaks, context);
  measured.clock = std::max(measured.clock, lab::measureClock());
  measured.callOne = callSeconds(1);
  measured.forkJoin = callSeconds(context.threads());
  measured.machine = lab::machineCeilings();
  for (auto [type, peak] : measured.peaks)
    measured.machine = lab::withPeak(std::move(measured.machine), context.threads(), peak, type);
}

} // namespace

nlohmann::json ProfileJob::settings() const {
  return {{"repetitions", repetitions}, {"until", until}, {"fill", inputs.fill}, {"seed", inputs.seed}};
}

Profile profile(const ProfileJob &options) {
  Recording recording(options.record, store::ExperimentKind::profile, "profile", options.command, options.settings());
  Profile result;
  result.prepared = prepare(options.model, options.inputs);
  result.mistrust = mistrusted(result.prepared);
  if (!result.mistrust.empty())
    say("lathe profile: the outputs are mistrusted: " + result.mistrust);
  // No timing without an answer (decision 9).
  result.verification = options.unchecked ? verificationOf(options.model, *result.prepared.model)
                                          : checkedFirst(options.model, options.inputs, result.prepared);
  const Verification &verdict = result.verification;
  result.refused = verdict.judged && !verdict.verified && !verdict.mistrusted && !options.unchecked;
  if (result.refused)
    return result;
  measure(result, options, recording);
  result.kept = recording.line();
  if (recording.on())
    result.experiment = recording.described();
  if (!options.trace.empty())
    result.traced.write(options.trace, *result.prepared.context, result.machine, result.counts,
                        {{"program", "lathe profile"},
                         {"model", options.model.model},
                         {"inputs", result.prepared.inputText},
                         {"target", result.prepared.model->target()},
                         {"threads", result.threads()}});
  return result;
}

nlohmann::json profilePage(const ProfileJob &options, const Profile &profile, const std::string &title) {
  store::Experiment experiment = profile.experiment;
  if (experiment.uuid.empty()) {
    experiment = experimentHere(store::ExperimentKind::profile, "profile", options.command, options.settings());
    experiment.detail = {{"clock_ghz", profile.clock}, {"graph", profile.graph}};
  }
  return profilePage(std::move(experiment), profile.points, profile.machine, title);
}

} // namespace lathe::jobs
