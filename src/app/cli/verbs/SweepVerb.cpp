// `lathe sweep`: measures one or several models at every level, layout, target and number of threads.
#include "cli/FrontVerbs.h"
#include "cli/flags/SweepFlags.h"
#include "cli/print/measure/SweepPage.h"
#include "process/ShellWords.h"

#include <algorithm>
#include <iostream>

namespace lathe::cli {
namespace {

/// Writes the page and the Markdown that were asked for.
void writePages(const SweepFlags &flags, const Sweep &sweep, const std::string &command, bool finished) {
  if (flags.html.empty() && flags.markdown.empty())
    return;
  print::Document document = sweepDocument(sweep, command, finished);
  if (!flags.html.empty())
    writeFile(flags.html, print::htmlOf(document));
  if (!flags.markdown.empty())
    writeFile(flags.markdown, print::markdownOf(document));
}

} // namespace

int sweepVerb(const Arguments &arguments) {
  SweepFlags flags;
  Options options(
      "sweep",
      "Compile a model at every level, layout and target, verify each package, and time all of them in turns, at "
      "every\n"
      "number of threads and limit of resources: one row a package, with its speedup over the first row, its size\n"
      "beside the original's, the time of a compilation from scratch, and what has no kernel. With --data, count the\n"
      "right decisions, and those that agree with the first row; with --against, run the models in their original\n"
      "runtimes, too. When interrupted, print and keep what was measured; the same command continues with the rows\n"
      "that are missing.",
      "  lathe sweep zoo:mobilenet_v2\n"
      "  lathe sweep model.onnx --levels 3 --layouts nchw,nhwc,blocked,auto\n"
      "  lathe sweep model.onnx --levels 0-4 --target native --target x86-64-v3 --threads 1,2\n"
      "  lathe sweep model.onnx --levels 3 --cpus performance --cpus efficiency --frequency-cap none --frequency-cap "
      "2GHz\n"
      "  lathe sweep float.tflite --with int8.tflite --levels 3 --data val/ --labels labels.txt --html lab.html\n"
      "  lathe sweep float.tflite --with int8.tflite --levels 3 --tflite-library libtensorflowlite_c.so\n");
  flags.add(options);
  options.parseAll(arguments);
  SweepJob &job = flags.job;
  job.command = arguments;
  bool failed = sweep(job, [&](const Sweep &soFar, bool finished, const std::string &kept) {
    auto done = size_t(std::count_if(soFar.rows.begin(), soFar.rows.end(), [](auto &row) { return row.done; }));
    if (options.printsText())
      std::cout << (finished ? "" : fmt::format("{} of {} rows are verified\n", done, soFar.rows.size()))
                << sweepText(soFar, options.tableStyle()) << job.pictures.preprocessing.rangeText()
                << skippedText(job.pictures.set.skipped) << kept << std::flush;
    nlohmann::json document = sweepJson(soFar, finished);
    if (job.classifies()) {
      document["pixel_range"] = job.pictures.preprocessing.pixelRange();
      document["skipped"] = skippedJson(job.pictures.set.skipped);
    }
    options.writeJson(document);
    writePages(flags, soFar, "lathe sweep " + process::shellCommand(arguments), finished);
  });
  return failed ? failedVerdict : success;
}

} // namespace lathe::cli
