#include "cli/FrontVerbs.h"
#include "cli/flags/RunFlags.h"
#include "cli/print/PageFiles.h"
#include "cli/print/measure/ProfileTable.h"
#include "jobs/Terminal.h"
#include "support/Text.h"

#include <filesystem>
#include <iostream>

namespace lathe::cli {
namespace {

struct ProfileFlags {
  ProfileJob job;
  std::string page, plots;

  void add(Options &options) {
    addModel(options, job.model, ModelUse::run);
    addLoading(options, job.model);
    addInputs(options, job.inputs, "random");
    options.add_option("--until", job.until, "Stop after the kernel that computes NODE")->type_name("NODE");
    options.add_option("--repetitions", job.repetitions, "Profile this many runs; the fastest quarter counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    options.add_flag("--no-check", job.unchecked, "Profile a package whose outputs were never verified");
    options.addOutput(
        "--trace", job.trace,
        "Write every run as a trace for Perfetto, with a track for each thread; NAME.json.gz is compressed");
    options
        .add_option(
            "--trace-events", job.traceEvents,
            fmt::format("Keep the first N events of each track of a traced run, and count the others (default: {} "
                        "/ (threads + 1))",
                        TraceRuns::most))
        ->type_name("N")
        ->check(CLI::Range(size_t(1), size_t(10000000)));
    options.addOutput("--html", page, "Write the profile as a page with plots (default: NAME.html)")->expected(0, 1);
    options.add_option("--svg", plots, "Write the plots as SVG files into the folder DIR, with Node.js")
        ->type_name("DIR");
    options.afterParse([this, &options] {
      if (job.trace.empty())
        options.refuse({"--trace-events"}, "no trace is written without --trace");
      if (options.given("--html") && (page.empty() || page == "true"))
        page = modelName() + ".html";
      if (!page.empty())
        requirePage();
    });
    addRecord(options, job.record, &job.model);
    options.addShowing();
  }

  /// "resnet50" of zoo:resnet50, models/resnet50.onnx and the folder models/resnet50/.
  std::string modelName() const {
    if (job.model.isZoo())
      return job.model.model.substr(job.model.model.find(':') + 1);
    std::filesystem::path path = job.model.model;
    return (path.has_filename() ? path : path.parent_path()).stem().string();
  }
};

/// Writes the files of --html and --svg. Returns a line about each.
std::string writeFiles(const ProfileFlags &flags, const Profile &profile) {
  std::string lines;
  if (flags.page.empty() && flags.plots.empty())
    return lines;
  nlohmann::json document = profilePage(flags.job, profile, "profile of " + flags.modelName());
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
  flags.job.command = arguments;
  Profile result = profile(flags.job);
  if (result.refused) {
    say(fmt::format("lathe profile: not profiled, {}", result.verification.text));
    options.writeJson(
        {{"model", flags.job.model.model}, {"verified", false}, {"verification", result.verification.text}});
    return failedVerdict;
  }
  ProfileTable table = profileTable(result);
  std::string files = writeFiles(flags, result);
  if (options.printsText())
    std::cout << profileText(flags.job, result, table, options.tableStyle()) << files << result.kept;
  options.writeJson(profileJson(flags.job, result, table));
  return success;
}

} // namespace lathe::cli
