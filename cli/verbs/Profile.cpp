#include "cli/FrontVerbs.h"
#include "cli/Recording.h"
#include "cli/print/ProfileTable.h"
#include "cli/print/Progress.h"
#include "cli/print/Terminal.h"
#include "lab/judging/Statistics.h"
#include "lab/machine/Disturbance.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <numeric>
#include <set>

namespace lathe::cli {
namespace {

/// One profiled run: seconds by instruction, the overhead, the whole.
struct Sample {
  std::vector<double> rows;
  double overhead = 0, whole = 0;
};

Sample sampleOf(const runtime::RunProfile &profile, size_t instructions) {
  Sample sample{std::vector<double>(instructions, 0.0), static_cast<double>(profile.overhead) * 1e-9,
                static_cast<double>(profile.end - profile.begin) * 1e-9};
  for (const runtime::InstructionTime &time : profile.times)
    sample.rows[time.instruction] += static_cast<double>(time.end - time.begin) * 1e-9;
  return sample;
}

/// Mean of the runs that count (lab::fastestQuarter): rows and overhead still add up to the whole, and what disturbed
/// runs from outside is left out.
Sample meanOf(const std::vector<Sample> &samples) {
  std::vector<double> whole;
  for (const Sample &sample : samples)
    whole.push_back(sample.whole);
  std::vector<size_t> chosen = lab::fastestQuarter(whole);
  Sample mean{std::vector<double>(samples[0].rows.size(), 0.0)};
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
int64_t instructionOf(const runtime::Context &context, const std::string &node) {
  int64_t found = -1;
  for (size_t i = 0; i < context.instructionCount(); ++i) {
    runtime::InstructionInfo info = context.instruction(i);
    if (info.name == node || std::find(info.nodes.begin(), info.nodes.end(), node) != info.nodes.end())
      found = static_cast<int64_t>(i);
  }
  require(found >= 0,
          "--until {}: no node of the plan has that name (folded away, or misspelt; lathe profile lists them)", node);
  return found;
}

/// Rows of the plan and the whole, as points. Samples are of all profiled runs, in order. `clock`, in GHz,
/// turns predicted cycles into time; 0: there are no predictions for this number of threads.
void record(Recording &recording, const store::Point &model, const runtime::Context &context, size_t count,
            const std::vector<Sample> &samples, const store::Disturbance &disturbance, double clock) {
  if (!recording.on())
    return;
  std::vector<store::Point> points;
  auto add = [&](store::Point point, auto &&secondsOf) {
    point.disturbance = disturbance;
    std::vector<store::Sample> times(samples.size());
    for (size_t i = 0; i < samples.size(); ++i)
      times[i].wallNs = std::llround(secondsOf(samples[i]) * 1e9);
    if (point.status != store::PointStatus::failed) // no time without an answer
      point.rounds.push_back(std::move(times));
    points.push_back(std::move(point));
  };
  add(model, [](const Sample &sample) { return sample.whole; });
  for (size_t i = 0; i < count; ++i) {
    runtime::InstructionInfo info = context.instruction(i);
    store::Point point = model;
    point.problem.op = "kernel";
    point.problem.text = fmt::format("{} #{} {}", model.problem.text, i, info.name);
    point.problem.detail["index"] = i;
    point.problem.detail["kind"] = info.kind;
    point.problem.detail["name"] = info.name;
    point.problem.detail["family"] = info.family;
    point.problem.detail["nodes"] = info.nodes;
    point.problem.detail["shapes"] = info.shapes;
    point.problem.detail["flops"] = info.flops;
    point.problem.detail["bytes"] = info.bytes;
    point.implementation = info.family;
    if (clock > 0 && info.predictedCycles > 0)
      point.figures["predicted_us"] = info.predictedCycles / clock * 1e-3;
    point.setting.schedule = info.schedule;
    add(std::move(point), [i](const Sample &sample) { return sample.rows[i]; });
  }
  recording.add(std::move(points));
  recording.finish(disturbance);
}

/// LLVM's name of the CPU that the package was compiled for; "" if the package does not tell.
std::string plannedMachine(const runtime::Model &model) {
  nlohmann::json machine = nlohmann::json::parse(model.machine(), nullptr, false);
  return machine.is_object() ? machine.value("cpu", "") : "";
}

/// Says what the column `predicted` is, and where it is empty.
std::string predictionText(const runtime::Model &model, int threads, double clockGhz, size_t missing) {
  if (int planned = model.plannedThreads(); planned != threads)
    return planned ? fmt::format("no predictions: the schedules were chosen for {}\n", counted(planned, "thread")) : "";
  std::string text =
      fmt::format("predicted: share of the measured time that the cost model expects, for {} at {:.2f} GHz",
                  printable(plannedMachine(model)), clockGhz);
  if (missing)
    text += fmt::format("; none for {}", counted(int64_t(missing), "kernel"));
  return text + "\n";
}

struct ProfileFlags {
  ModelFlags model;
  InputFlags inputs;
  RecordFlags record;
  std::string until;
  size_t repetitions = 40;
  bool unchecked = false;

  void add(Options &options) {
    model.add(options, ModelUse::run);
    model.addLoading(options);
    inputs.add(options, "random");
    options.add_option("--until", until, "Stop after the kernel that computes NODE")->type_name("NODE");
    options.add_option("--repetitions", repetitions, "Profile this many runs; the fastest quarter counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    options.add_flag("--no-check", unchecked, "Profile a package whose outputs were never verified");
    record.add(options, &model);
    options.addQuiet();
    options.addWide();
    options.addJson();
  }
};

/// Measurements of the runs, and the limits measured beside them.
struct Measured {
  Sample mean;
  std::vector<double> least;           // by instruction, in seconds
  size_t count = 0;                    // instructions that ran
  std::map<ElementType, double> peaks; // GFLOPS, of f32 and the types of the kernels' factors
  double clock = 0;                    // GHz
  double callOne = 0, forkJoin = 0;    // seconds

  double overheadEach() const { return mean.overhead / static_cast<double>(std::max<size_t>(count, 1)); }
};

/// Measures the present peaks of f32 and of the types of the kernels' factors, and keeps the larger ones.
void measurePeaks(std::map<ElementType, double> &peaks, const runtime::Context &context) {
  std::set<ElementType> types{ElementType::f32};
  for (size_t i = 0; i < context.instructionCount(); ++i)
    types.insert(factorsOf(context.instruction(i)));
  for (ElementType type : types)
    if (double peak = lab::measurePeak(context.threads(), type); peak > 0) // 0: computed as f32
      peaks[type] = std::max(peaks[type], peak);
}

Measured measure(const ProfileFlags &flags, const Prepared &prepared, const Verification &verification,
                 Recording &recording) {
  runtime::Context &context = *prepared.context;
  runtime::RunOptions run;
  run.profile = true;
  if (!flags.until.empty())
    run.until = instructionOf(context, flags.until);
  Progress progress("profile");
  // The limits are of the same minutes: clocks and neighbours change within an hour. The better of before and after.
  Measured measured;
  lab::machineCeilings(); // which may be measured now
  measurePeaks(measured.peaks, context);
  measured.clock = lab::measureClock();
  context.run(run);
  std::vector<Sample> samples;
  lab::DisturbanceMeter meter;
  for (size_t i = 0; i < flags.repetitions; ++i) {
    context.run(run);
    samples.push_back(sampleOf(context.profile(), context.instructionCount()));
    progress.update("run", i + 1, flags.repetitions);
  }
  measured.least.assign(context.instructionCount(), INFINITY);
  for (const Sample &sample : samples)
    for (size_t i = 0; i < measured.least.size(); ++i)
      measured.least[i] = std::min(measured.least[i], sample.rows[i]);
  measured.count = run.until >= 0 ? static_cast<size_t>(run.until) + 1 : context.instructionCount();
  store::Point whole = modelPoint(flags.model, flags.inputs, prepared, verification);
  if (!flags.until.empty())
    whole.setting.extra["until"] = flags.until;
  bool predicts = prepared.model->plannedThreads() == context.threads();
  record(recording, whole, context, measured.count, samples, meter.read(), predicts ? measured.clock : 0);
  measured.mean = meanOf(samples);
  measurePeaks(measured.peaks, context);
  measured.clock = std::max(measured.clock, lab::measureClock());
  measured.callOne = callSeconds(1);
  measured.forkJoin = callSeconds(context.threads());
  return measured;
}

double keptPeak(ElementType type, int threads) { return lab::machineCeilings().gflops(type, threads); }

/// "118.2 GFLOPS f32, 470.1 i8 beside these runs (117.4, 469.0 in lathe machine)"
std::string peaksText(const Measured &measured, int threads) {
  std::string now, kept;
  for (auto [type, peak] : measured.peaks) {
    now += fmt::format("{}{:.1f}{} {}", now.empty() ? "" : ", ", peak, now.empty() ? " GFLOPS" : "", name(type));
    kept += fmt::format("{}{:.1f}", kept.empty() ? "" : ", ", keptPeak(type, threads));
  }
  return fmt::format("{} beside these runs ({} in lathe machine)", now, kept);
}

std::string profileText(const ProfileFlags &flags, const Prepared &prepared, const Measured &measured,
                        const ProfileTable &table, const TableStyle &style) {
  int threads = prepared.context->threads();
  std::string text = fmt::format("{} ({}{}{}), {}, {}; peak {}\n", flags.model.model, prepared.inputText,
                                 prepared.extents.empty() ? "" : "; " + prepared.extents,
                                 prepared.variant.empty() ? "" : ", variant " + prepared.variant,
                                 counted(threads, "thread"), prepared.model->target(), peaksText(measured, threads));
  text += table.str(style);
  text += fmt::format("overhead {:.3f} us a kernel; an empty kernel takes {:.3f} us on one thread",
                      measured.overheadEach() * 1e6, measured.callOne * 1e6);
  if (threads > 1)
    text += fmt::format(", {:.2f} us to fork and join on {}", measured.forkJoin * 1e6, threads);
  return text + "\n" + predictionText(*prepared.model, threads, measured.clock, table.unpredicted());
}

nlohmann::json profileJson(const ProfileFlags &flags, const Prepared &prepared, const Measured &measured,
                           const ProfileTable &table) {
  int threads = prepared.context->threads();
  nlohmann::json peaks, kept;
  for (auto [type, peak] : measured.peaks) {
    peaks[std::string(name(type))] = peak;
    kept[std::string(name(type))] = keptPeak(type, threads);
  }
  return {{"model", flags.model.model},
          {"threads", threads},
          {"target", prepared.model->target()},
          {"inputs", prepared.inputText},
          {"extents", prepared.extents},
          {"variant", prepared.variant},
          {"peak_gflops", measured.peaks.at(ElementType::f32)},
          {"kept_peak_gflops", keptPeak(ElementType::f32, threads)},
          {"peaks_gflops", peaks},
          {"kept_peaks_gflops", kept},
          {"clock_ghz", measured.clock},
          {"planned_threads", prepared.model->plannedThreads()},
          {"predicted_for", plannedMachine(*prepared.model)},
          {"rows", table.rows()},
          {"overhead_ms", measured.mean.overhead * 1e3},
          {"overhead_per_kernel_us", measured.overheadEach() * 1e6},
          {"call_us", measured.callOne * 1e6},
          {"fork_join_us", measured.forkJoin * 1e6},
          {"whole_ms", measured.mean.whole * 1e3},
          {"gflops", table.gflops()},
          {"gb_s", table.gigabytesPerSecond()},
          {"roofline_share", table.rooflineShare()}};
}

} // namespace

int profileVerb(const Arguments &arguments) {
  ProfileFlags flags;
  Options options("profile",
                  "Show one row per kernel: source nodes, time, share, speed, share of the roofline, and the time "
                  "that the cost model\n"
                  "predicts as a share of the measured time. The outputs are verified first unless that was done "
                  "before, and the\n"
                  "machine's peak and clock are measured beside the runs (docs/profiling.md).",
                  "  lathe profile resnet50.lathe\n"
                  "  lathe profile zoo:resnet50 --threads 2 --json profile.json\n"
                  "  lathe profile model.onnx --until conv4_1\n");
  flags.add(options);
  options.parseAll(arguments);
  Recording recording(flags.record, store::ExperimentKind::profile, "profile", arguments,
                      {{"repetitions", flags.repetitions},
                       {"until", flags.until},
                       {"fill", flags.inputs.fill},
                       {"seed", flags.inputs.seed}});

  Prepared prepared = prepare(flags.model, flags.inputs);
  std::string mistrust = mistrusted(prepared);
  if (!mistrust.empty())
    say(fmt::format("lathe profile: the outputs are mistrusted: {}", mistrust));

  // No timing without an answer (decision 9).
  Verification verification =
      flags.unchecked ? verificationOf(*prepared.model) : checkedFirst(flags.model, flags.inputs, prepared);
  if (verification.judged && !verification.verified && !verification.mistrusted && !flags.unchecked) {
    say(fmt::format("lathe profile: not profiled, {}", verification.text));
    options.writeJson({{"model", flags.model.model}, {"verified", false}, {"verification", verification.text}});
    return failedVerdict;
  }

  Measured measured = measure(flags, prepared, verification, recording);
  int threads = prepared.context->threads();
  lab::MachineCeilings machine = lab::machineCeilings();
  for (auto [type, peak] : measured.peaks)
    machine = lab::withPeak(std::move(machine), threads, peak, type);
  bool predicts = prepared.model->plannedThreads() == threads;
  ProfileTable table(machine, threads, measured.mean.whole, predicts ? measured.clock : 0);
  for (size_t i = 0; i < measured.count; ++i)
    table.add(prepared.context->instruction(i), measured.mean.rows[i], measured.least[i]);
  table.finish(measured.mean.overhead);
  if (options.printsText())
    std::cout << profileText(flags, prepared, measured, table, options.tableStyle()) << "outputs: " << verification.text
              << "\n"
              << recording.line();
  nlohmann::json json = profileJson(flags, prepared, measured, table);
  json["verified"] = verification.verified;
  json["verification"] = verification.text;
  json["mistrusted"] = mistrust;
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
