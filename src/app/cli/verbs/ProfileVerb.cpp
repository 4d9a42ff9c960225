#include "cli/FrontVerbs.h"
#include "cli/Recording.h"
#include "cli/print/PageFiles.h"
#include "cli/print/ProfileTable.h"
#include "cli/print/Progress.h"
#include "cli/print/Terminal.h"
#include "cli/profile/KernelGraph.h"
#include "cli/profile/ProfilePoints.h"
#include "cli/profile/TraceFile.h"
#include "lab/judging/NodeInstruction.h"
#include "lab/judging/Statistics.h"
#include "lab/machine/Disturbance.h"
#include "package/OperationCount.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <numeric>
#include <set>

namespace lathe::cli {
namespace {

ProfiledRun sampleOf(const runtime::RunProfile &profile, size_t instructions) {
  ProfiledRun sample{std::vector<double>(instructions, 0.0), static_cast<double>(profile.overhead) * 1e-9,
                     static_cast<double>(profile.end - profile.begin) * 1e-9};
  for (const runtime::InstructionTime &time : profile.times)
    sample.rows[time.instruction] += static_cast<double>(time.end - time.begin) * 1e-9;
  return sample;
}

/// The indices of the runs that count (lab::fastestQuarter).
std::vector<size_t> countingRuns(const std::vector<ProfiledRun> &samples) {
  std::vector<double> whole;
  for (const ProfiledRun &sample : samples)
    whole.push_back(sample.whole);
  return lab::fastestQuarter(whole);
}

/// Mean of the runs that count: rows and overhead still add up to the total, and runs that were disturbed from outside
/// are left out.
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

/// The instruction that computes `node` last. Throws Error with the existing names if there is none.
uint32_t instructionOf(const runtime::Context &context, const std::string &node) {
  std::optional<uint32_t> found = lab::instructionOf(context, node);
  require(found.has_value(),
          "--until {}: no node of the plan has that name (folded away, or misspelt; lathe profile lists them)", node);
  return *found;
}

/// LLVM's name of the CPU that the package was compiled for; "" if the package does not tell.
std::string plannedMachine(const runtime::Model &model) {
  nlohmann::json machine = nlohmann::json::parse(model.machine(), nullptr, false);
  return machine.is_object() ? machine.value("cpu", "") : "";
}

/// Explains the column `predicted`, and where it is empty.
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
  std::string trace, page, plots;
  size_t traceEvents = 0; // 0: the default

  bool drawn() const { return !page.empty() || !plots.empty(); }

  void add(Options &options) {
    model.add(options, ModelUse::run);
    model.addLoading(options);
    inputs.add(options, "random");
    options.add_option("--until", until, "Stop after the kernel that computes NODE")->type_name("NODE");
    options.add_option("--repetitions", repetitions, "Profile this many runs; the fastest quarter counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    options.add_flag("--no-check", unchecked, "Profile a package whose outputs were never verified");
    options.addOutput(
        "--trace", trace,
        "Write every run as a trace for Perfetto, with a track for each thread; NAME.json.gz is compressed");
    options
        .add_option(
            "--trace-events", traceEvents,
            fmt::format("Keep the first N events of each track of a traced run, and count the others (default: {} "
                        "/ (threads + 1))",
                        TraceRuns::most))
        ->type_name("N")
        ->check(CLI::Range(size_t(1), size_t(10000000)));
    options.addOutput("--html", page, "Write the profile as a page with plots (default: NAME.html)")->expected(0, 1);
    options.add_option("--svg", plots, "Write the plots as SVG files into the folder DIR, with Node.js")
        ->type_name("DIR");
    options.afterParse([this, &options] {
      if (trace.empty())
        options.refuse({"--trace-events"}, "no trace is written without --trace");
      if (options.given("--html") && (page.empty() || page == "true"))
        page = modelName() + ".html";
      if (!page.empty())
        requirePage();
    });
    record.add(options, &model);
    options.addQuiet();
    options.addWide();
    options.addJson();
  }

  /// "resnet50" of zoo:resnet50, models/resnet50.onnx and the folder models/resnet50/.
  std::string modelName() const {
    if (model.isZoo())
      return model.model.substr(model.model.find(':') + 1);
    std::filesystem::path path = model.model;
    return (path.has_filename() ? path : path.parent_path()).stem().string();
  }
  nlohmann::json settings() const {
    return {{"repetitions", repetitions}, {"until", until}, {"fill", inputs.fill}, {"seed", inputs.seed}};
  }
};

/// Measurements of the runs, and the limits measured with them.
struct Measured {
  ProfiledRun mean;
  std::vector<double> least;           // by instruction, in seconds
  size_t count = 0;                    // instructions that ran
  std::map<ElementType, double> peaks; // GFLOPS, for f32 and the types of the kernels' factors
  double clock = 0;                    // GHz
  double callOne = 0, forkJoin = 0;    // seconds
  std::vector<bool> counts;            // for each run, whether it counts for the means
  TraceRuns traced;
  nlohmann::json graph; // graph of the kernels
  std::vector<store::Point> points;

  double overheadEach() const { return mean.overhead / static_cast<double>(std::max<size_t>(count, 1)); }
};

/// Measures the current peaks of f32 and of the types of the kernels' factors, and keeps the larger ones.
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
  run.trace = !flags.trace.empty();
  run.traceLimit = flags.traceEvents ? flags.traceEvents : TraceRuns::limitOf(context.threads());
  Progress progress("profile");
  // Measures the limits before and after the runs and takes the better ones: clocks and neighbours change within an
  // hour.
  Measured measured;
  // May measure the ceilings now.
  lab::machineCeilings([](const std::string &line) { say("lathe profile: " + line); });
  measurePeaks(measured.peaks, context);
  measured.clock = lab::measureClock();
  context.run(run);
  std::vector<ProfiledRun> samples;
  lab::DisturbanceMeter meter;
  for (size_t i = 0; i < flags.repetitions; ++i) {
    context.run(run);
    samples.push_back(sampleOf(context.profile(), context.instructionCount()));
    if (run.trace)
      measured.traced.add(context);
    run.trace = run.trace && !measured.traced.isFull();
    progress.update("run", i + 1, flags.repetitions);
  }
  measured.least.assign(context.instructionCount(), INFINITY);
  for (const ProfiledRun &sample : samples)
    for (size_t i = 0; i < measured.least.size(); ++i)
      measured.least[i] = std::min(measured.least[i], sample.rows[i]);
  measured.count = run.until >= 0 ? static_cast<size_t>(run.until) + 1 : context.instructionCount();
  store::Point whole = modelPoint(flags.model, flags.inputs, prepared, verification);
  if (!flags.until.empty())
    whole.setting.extra["until"] = flags.until;
  bool predicts = prepared.model->plannedThreads() == context.threads();
  store::Disturbance disturbance = meter.read();
  measured.graph = kernelGraph(context, measured.count);
  measured.points = profilePoints(whole, context, measured.count, samples, disturbance, predicts ? measured.clock : 0);
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
  std::string text = fmt::format("{} ({}{}{}), {}, {}; peak {}\n", printable(flags.model.model), prepared.inputText,
                                 prepared.extents.empty() ? "" : "; " + prepared.extents,
                                 prepared.variant.empty() ? "" : ", variant " + prepared.variant,
                                 counted(threads, "thread"), prepared.model->target(), peaksText(measured, threads));
  text += table.str(style);
  text += fmt::format("overhead {:.3f} us a kernel; an empty kernel takes {:.3f} us on one thread",
                      measured.overheadEach() * 1e6, measured.callOne * 1e6);
  if (threads > 1)
    text += fmt::format(", {:.2f} us to fork and join on {}", measured.forkJoin * 1e6, threads);
  if (std::string note = package::paddingNote(prepared.model->options()); !note.empty())
    text += "\n" + note;
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
          {"operations_note", package::paddingNote(prepared.model->options())},
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

/// Writes the files of --trace, --html and --svg. Returns a line about each.
std::string writeFiles(const ProfileFlags &flags, const Prepared &prepared, const Measured &measured,
                       const lab::MachineCeilings &machine, const Recording &recording, const Arguments &arguments) {
  std::string lines;
  if (!flags.trace.empty()) {
    measured.traced.write(flags.trace, *prepared.context, machine, measured.counts,
                          {{"program", "lathe profile"},
                           {"model", flags.model.model},
                           {"inputs", prepared.inputText},
                           {"target", prepared.model->target()},
                           {"threads", prepared.context->threads()}});
    std::string runs = counted(int64_t(measured.traced.runs()), "run");
    if (measured.traced.runs() < flags.repetitions)
      runs = fmt::format("the first {} of {}; more would be too many events", runs, flags.repetitions);
    if (uint64_t count = measured.traced.leftOut())
      runs += fmt::format("; {} of full tracks are left out (--trace-events)", counted(int64_t(count), "event"));
    lines += fmt::format("{}: trace of {}\n", flags.trace, runs);
  }
  if (!flags.drawn())
    return lines;
  store::Experiment experiment = recording.described();
  if (!recording.on()) {
    experiment = experimentHere(store::ExperimentKind::profile, "profile", arguments, flags.settings());
    experiment.detail = {{"clock_ghz", measured.clock}, {"graph", measured.graph}};
  }
  nlohmann::json document = profilePage(experiment, measured.points, machine, "profile of " + flags.modelName());
  if (!flags.page.empty()) {
    writePage(flags.page, document);
    lines += fmt::format("{}: page\n", flags.page);
  }
  if (!flags.plots.empty())
    lines += fmt::format("{}: {}\n", flags.plots, counted(int64_t(writePlots(flags.plots, document)), "plot"));
  return lines;
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
                  "  lathe profile model.onnx --until conv4_1\n"
                  "  lathe profile model.onnx --trace model.json.gz --html\n");
  flags.add(options);
  options.parseAll(arguments);
  Recording recording(flags.record, store::ExperimentKind::profile, "profile", arguments, flags.settings());

  Prepared prepared = prepare(flags.model, flags.inputs);
  std::string mistrust = mistrusted(prepared);
  if (!mistrust.empty())
    say(fmt::format("lathe profile: the outputs are mistrusted: {}", mistrust));

  // No timing without a verified answer (decision 9).
  Verification verification = flags.unchecked ? verificationOf(flags.model, *prepared.model)
                                              : checkedFirst(flags.model, flags.inputs, prepared);
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
  std::string files = writeFiles(flags, prepared, measured, machine, recording, arguments);
  if (options.printsText())
    std::cout << profileText(flags, prepared, measured, table, options.tableStyle()) << "outputs: " << verification.text
              << "\n"
              << files << recording.line();
  nlohmann::json json = profileJson(flags, prepared, measured, table);
  json["verified"] = verification.verified;
  json["verification"] = verification.text;
  json["mistrusted"] = mistrust;
  json["graph"] = measured.graph;
  if (!flags.trace.empty())
    json["trace"] = {{"runs", measured.traced.runs()}, {"events_left_out", measured.traced.leftOut()}};
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
