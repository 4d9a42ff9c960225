#include "cli/FrontVerbs.h"
#include "cli/flags/Describe.h"
#include "cli/flags/RunFlags.h"
#include "cli/flags/TfliteLibrary.h"
#include "jobs/compare/Compare.h"

#include <iostream>

namespace lathe::cli {
namespace {

struct CompareFlags {
  CompareJob job;

  void add(Options &options) {
    addModel(options, job.model, ModelUse::run);
    addLoading(options, job.model);
    addInputs(options, job.inputs, "random", false);
    addBatches(options, job.batches);
    const std::vector<std::string> runtimes = {
        "onnxruntime", "onnxruntime-parallel", "tflite", "tensorflowjs", "tensorflow", "opencv", "reference"};
    options
        .add_option("--with", job.with,
                    fmt::format("Compare with these, separated by commas: {}, or the file of another model or package "
                                "(default: tflite for TFLite models, else onnxruntime)",
                                fmt::join(runtimes, ", ")))
        ->check(offersList(runtimes))
        ->type_name("RUNTIME|MODEL,...");
    options.reads([this] { return wordsOf(job.with); });
    options.add_flag(
        "--adapt-layouts", job.compare.adaptLayouts,
        "Transpose inputs and outputs whose channels lie elsewhere (NHWC against NCHW), outside of what is "
        "timed");
    options.add_flag("--check-only", job.compare.checkOnly, "Compare outputs and time nothing");
    addTiming(options);
    options.add_option("--relative", job.relative,
                       "Set the largest relative L2 difference of outputs that agree (default: docs/numerics.md; "
                       "0.0001 for fp32)");
    options.add_option("--maximum", job.maximum,
                       "Set the limit of the largest |difference| divided by the largest |value| (default: "
                       "docs/numerics.md; 0.001 for "
                       "fp32)");
    addRecord(options, job.record, &job.model);
    addTfliteLibrary(options);
    options.addShowing();
    options.afterParse([this, &options] {
      if (job.compare.checkOnly)
        options.refuse({"--max-seconds", "--max-rounds", "--starts"}, "--check-only times nothing");
    });
  }

private:
  void addTiming(Options &options) {
    options
        .add_option("--max-seconds", job.compare.maxSeconds,
                    "Time for at most this long, later starts of the runtimes included, in seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    options
        .add_option("--starts", job.compare.minStarts,
                    "Start every runtime at least this often; more starts follow until every verdict is decided or "
                    "--max-seconds have passed")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    options
        .add_option("--max-rounds", job.maxRounds, "Time at most this many rounds in all starts (default: no limit)")
        ->check(CLI::PositiveNumber);
  }
};

} // namespace

int compareVerb(const Arguments &arguments) {
  CompareFlags flags;
  Options options(
      "compare",
      "Compare the outputs of a model with other runtimes, then time all of them in turns: while one runs\n"
      "the others stand still. Every runtime is started several times, because processes of one program differ.\n"
      "When interrupted, print and keep what was measured. Exit code 1 when outputs differ or a side fails.",
      "  lathe compare zoo:resnet50 --with onnxruntime\n"
      "  lathe compare model.onnx --with onnxruntime,reference --threads 2 --json compare.json\n"
      "  lathe compare zoo:resnet50 --precision bf16 --with fp32.lathe     two packages of one model\n"
      "  lathe compare model.onnx --with onnxruntime --check-only --batch 3\n"
      "  lathe compare model.onnx --with onnxruntime --batch 1,3,8,17     one package at each batch\n"
      "  lathe compare model.tflite --check-only     beside TensorFlow Lite (docs/runner-protocol.md)\n"
      "  lathe compare model.keras --with onnxruntime,tensorflowjs     ONNX Runtime runs the export\n"
      "  lathe compare model.onnx --with model.keras,onnxruntime --adapt-layouts     two files of one network\n");
  flags.add(options);
  options.parseAll(arguments);
  flags.job.command = arguments;
  std::vector<nlohmann::json> documents; // one for each size
  auto report = [&](const ComparedSize &size) {
    if (options.printsText())
      std::cout << (size.several ? fmt::format("{}{}:\n", documents.empty() ? "" : "\n", size.inputs) : "")
                << lab::describe(size.comparison, options.tableStyle()) << size.kept << std::flush;
    documents.push_back(toJson(size, flags.job));
    options.writeJson(size.several ? nlohmann::json{{"model", flags.job.model.model}, {"sizes", documents}}
                                   : documents.front());
  };
  return compare(flags.job, report) ? success : failedVerdict;
}

} // namespace lathe::cli
