#include "cli/FrontVerbs.h"
#include "cli/Recording.h"
#include "cli/print/Progress.h"
#include "cli/print/Terminal.h"
#include "lab/machine/Disturbance.h"
#include "lab/machine/Machine.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

namespace lathe::cli {
namespace {

/// What a kernel multiplies, which decides the ceiling it is held against.
ElementType operandsOf(const runtime::InstructionInfo &info) {
  bool rounded = info.schedule.find("type=bf16") != std::string_view::npos;
  return rounded ? ElementType::bf16 : ElementType::f32;
}

struct Row {
  runtime::InstructionInfo info;
  double seconds = 0;
};

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

/// Mean of the fastest quarter of the samples (by whole time): rows and overhead still add up to the whole, and what
/// disturbed runs from outside is left out.
Sample fastestQuarter(std::vector<Sample> samples) {
  std::sort(samples.begin(), samples.end(), [](const Sample &a, const Sample &b) { return a.whole < b.whole; });
  samples.resize((samples.size() + 3) / 4);
  Sample mean{std::vector<double>(samples[0].rows.size(), 0.0)};
  double weight = 1.0 / static_cast<double>(samples.size());
  for (const Sample &sample : samples) {
    for (size_t i = 0; i < sample.rows.size(); ++i)
      mean.rows[i] += sample.rows[i] * weight;
    mean.overhead += sample.overhead * weight;
    mean.whole += sample.whole * weight;
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

/// Rows of the plan and the whole, as points. Samples are of all profiled runs, in order.
void record(Recording &recording, const store::Point &model, const runtime::Context &context, size_t count,
            const std::vector<Sample> &samples, const store::Disturbance &disturbance) {
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
    point.setting.schedule = info.schedule;
    add(std::move(point), [i](const Sample &sample) { return sample.rows[i]; });
  }
  recording.add(std::move(points));
  recording.finish(disturbance);
}

} // namespace

int profileVerb(const Arguments &arguments) {
  ModelFlags model;
  InputFlags inputs;
  RecordFlags flags;
  std::string until;
  size_t repetitions = 40;
  bool unchecked = false;
  Options options("profile",
                  "Show one row per kernel: source nodes, time, share, speed and share of the roofline. The outputs "
                  "are verified first\n"
                  "unless that was done before, and the machine's peak is measured beside the runs.",
                  "  lathe profile resnet50.lathe\n"
                  "  lathe profile zoo:resnet50 --threads 2 --json profile.json\n"
                  "  lathe profile model.onnx --until conv4_1\n");
  model.add(options, ModelUse::run);
  model.addLoading(options);
  inputs.add(options, "random");
  options.add_option("--until", until, "Stop after the kernel that computes NODE")->type_name("NODE");
  options.add_option("--repetitions", repetitions, "Profile this many runs; the fastest quarter counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options.add_flag("--no-check", unchecked, "Profile a package whose outputs were never verified");
  flags.add(options);
  options.addQuiet();
  options.addWide();
  options.addJson();
  options.parseAll(arguments);
  Recording recording(flags, store::ExperimentKind::profile, "profile", arguments,
                      {{"repetitions", repetitions}, {"until", until}, {"fill", inputs.fill}, {"seed", inputs.seed}});

  Prepared prepared = prepare(model, inputs);
  runtime::Context &context = *prepared.context;
  std::string mistrust = mistrusted(prepared);
  if (!mistrust.empty())
    say(fmt::format("lathe profile: the outputs are mistrusted: {}", mistrust));

  // No timing without an answer (decision 9).
  Verification verification = unchecked ? verificationOf(*prepared.model) : checkedFirst(model, inputs, prepared);
  if (verification.judged && !verification.verified && !verification.mistrusted && !unchecked) {
    say(fmt::format("lathe profile: not profiled, {}", verification.text));
    options.writeJson({{"model", model.model}, {"verified", false}, {"verification", verification.text}});
    return failedVerdict;
  }

  runtime::RunOptions run;
  run.profile = true;
  if (!until.empty())
    run.until = instructionOf(context, until);
  Progress progress("profile");
  // The limit is of the same minutes: clocks and neighbours change within an hour. The better of before and after.
  const lab::MachineCeilings &kept = lab::machineCeilings();
  double peak = lab::measurePeak(context.threads());
  context.run(run);
  std::vector<Sample> samples;
  lab::DisturbanceMeter meter;
  for (size_t i = 0; i < repetitions; ++i) {
    context.run(run);
    samples.push_back(sampleOf(context.profile(), context.instructionCount()));
    progress.update("run", i + 1, repetitions);
  }
  std::vector<double> least(context.instructionCount(), INFINITY);
  for (const Sample &sample : samples)
    for (size_t i = 0; i < least.size(); ++i)
      least[i] = std::min(least[i], sample.rows[i]);
  size_t count = run.until >= 0 ? static_cast<size_t>(run.until) + 1 : context.instructionCount();
  store::Point whole = modelPoint(model, inputs, prepared, verification);
  if (!until.empty())
    whole.setting.extra["until"] = until;
  record(recording, whole, context, count, samples, meter.read());
  Sample mean = fastestQuarter(std::move(samples));

  peak = std::max(peak, lab::measurePeak(context.threads()));
  lab::MachineCeilings machine = lab::withPeak(kept, context.threads(), peak);
  Table table({numberColumn("#"), numberColumn("", "ms"), numberColumn("share"), numberColumn("GFLOPS"),
               numberColumn("GB/s").drop(1), numberColumn("roofline"), textColumn("bound by").drop(2),
               textColumn("kind"), textColumn("nodes").shrink(14), textColumn("shapes").drop(4).shrink(16),
               textColumn("schedule").drop(3).shrink(16)});
  nlohmann::json rows = nlohmann::json::array();
  double flops = 0, bytes = 0, limit = 0;
  for (size_t i = 0; i < count; ++i) {
    runtime::InstructionInfo info = context.instruction(i);
    double seconds = mean.rows[i];
    lab::Roofline roofline =
        lab::roofline(machine, operandsOf(info), info.flops, info.bytes, seconds, context.threads());
    bool kernel = std::string_view(info.kind) == "kernel";
    flops += info.flops;
    bytes += info.bytes;
    limit += roofline.limitSeconds;
    auto rate = [&](double amount) { return seconds > 0 ? amount / seconds * 1e-9 : 0; };
    std::string schedule(info.schedule), shapes(info.shapes);
    table.row(
        {std::to_string(i), fmt::format("{:.4f}", seconds * 1e3), fmt::format("{:.1f} %", seconds / mean.whole * 100),
         kernel ? fmt::format("{:.1f}", rate(info.flops)) : "", kernel ? fmt::format("{:.1f}", rate(info.bytes)) : "",
         kernel ? fmt::format("{:.0f} %", roofline.share * 100) : "", kernel ? roofline.bound : "",
         kernel ? std::string(info.family) : info.kind, fmt::format("{}", fmt::join(info.nodes, "+")), shapes,
         schedule});
    rows.push_back({{"index", i},
                    {"kind", info.kind},
                    {"name", info.name},
                    {"family", info.family},
                    {"nodes", info.nodes},
                    {"shapes", info.shapes},
                    {"schedule", info.schedule},
                    {"time_ms", seconds * 1e3},
                    {"min_ms", least[i] * 1e3},
                    {"share", seconds / mean.whole},
                    {"flops", info.flops},
                    {"bytes", info.bytes},
                    {"gflops", rate(info.flops)},
                    {"gb_s", rate(info.bytes)},
                    {"roofline_share", kernel ? roofline.share : 0},
                    {"limit_ms", roofline.limitSeconds * 1e3},
                    {"bound", kernel ? roofline.bound : ""}});
  }
  table.row({"", fmt::format("{:.4f}", mean.overhead * 1e3), fmt::format("{:.1f} %", mean.overhead / mean.whole * 100),
             "", "", "", "", "overhead"});
  table.row({"", fmt::format("{:.4f}", mean.whole * 1e3), "100.0 %", fmt::format("{:.1f}", flops / mean.whole * 1e-9),
             fmt::format("{:.1f}", bytes / mean.whole * 1e-9), fmt::format("{:.0f} %", limit / mean.whole * 100), "",
             "whole"});
  double overheadEach = mean.overhead / static_cast<double>(std::max<size_t>(count, 1));
  double callOne = callSeconds(1), forkJoin = callSeconds(context.threads());
  if (options.printsText()) {
    std::cout << fmt::format("{} ({}), {}, {}; peak {:.1f} GFLOPS fp32 beside these runs ({:.1f} in lathe machine)\n",
                             model.model, prepared.inputText, counted(context.threads(), "thread"),
                             prepared.model->target(), peak, kept.gflops(ElementType::f32, context.threads()));
    std::cout << table.str(options.tableStyle());
    std::cout << fmt::format("overhead {:.3f} us a kernel; an empty kernel takes {:.3f} us on one thread",
                             overheadEach * 1e6, callOne * 1e6);
    std::cout << (context.threads() > 1
                      ? fmt::format(", {:.2f} us to fork and join on {}\n", forkJoin * 1e6, context.threads())
                      : "\n");
    std::cout << "outputs: " << verification.text << "\n" << recording.line();
  }
  options.writeJson({{"model", model.model},
                     {"threads", context.threads()},
                     {"target", prepared.model->target()},
                     {"inputs", prepared.inputText},
                     {"peak_gflops", peak},
                     {"kept_peak_gflops", kept.gflops(ElementType::f32, context.threads())},
                     {"verified", verification.verified},
                     {"verification", verification.text},
                     {"rows", rows},
                     {"overhead_ms", mean.overhead * 1e3},
                     {"overhead_per_kernel_us", overheadEach * 1e6},
                     {"call_us", callOne * 1e6},
                     {"fork_join_us", forkJoin * 1e6},
                     {"whole_ms", mean.whole * 1e3},
                     {"gflops", flops / mean.whole * 1e-9},
                     {"gb_s", bytes / mean.whole * 1e-9},
                     {"roofline_share", limit / mean.whole},
                     {"mistrusted", mistrust}});
  return success;
}

} // namespace lathe::cli
