// `lathe segments`: compares a network piece by piece with another runtime.
#include "cli/CompilerVerbs.h"
#include "cli/flags/Describe.h"
#include "cli/print/measure/SegmentsPrint.h"

#include <iostream>

namespace lathe::cli {
namespace {

struct SegmentFlags {
  SegmentJob job;
  bool list = false;

  void add(Options &options) {
    job.compare.maxSeconds = 3;
    addModel(options, job.model, ModelUse::compile);
    addInputs(options, job.inputs, "random");
    options
        .add_option(
            "--with", job.with,
            "Compare with this runner: onnxruntime, opencv, tflite for models of TensorFlow Lite, or tensorflowjs "
            "for models of TensorFlow and Keras")
        ->check(offers({"onnxruntime", "opencv", "tensorflowjs", "tflite"}))
        ->capture_default_str();
    options
        .add_option(
            "--checkpoints", job.count,
            "Place this many checkpoints, evenly over the operations, where a single tensor passes beside inputs")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    options
        .add_option("--at", job.at,
                    "Place the checkpoints behind these nodes or scopes, given in the order of the graph, in place of "
                    "--checkpoints")
        ->delimiter(',')
        ->type_name("NODE...");
    options.add_flag("--list", list, "Print the places where the network can be cut, and end");
    options
        .add_option("--repeat", job.repeat,
                    "Run each part this many times in each runtime, over six starts (default 0: until the verdict is "
                    "decided or --max-seconds have passed)")
        ->check(CLI::Range(0, 100000));
    options
        .add_option("--max-seconds", job.compare.maxSeconds,
                    "Time a part for at most this long, later starts of the runtimes included, in seconds")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    addRecord(options, job.record, &job.model);
    options.addShowing();
    options.afterParse([this, &options] { check(options); });
  }

private:
  void check(const Options &options) {
    if (list)
      options.refuse({"--input", "--fill", "--seed", "--batch", "--with", "--checkpoints", "--at", "--repeat",
                      "--max-seconds", "--store", "--no-store"},
                     "--list measures nothing");
    if (!job.at.empty())
      options.refuse({"--checkpoints"}, "--at names the checkpoints");
    if (!job.repeat)
      return;
    options.refuse({"--max-seconds"}, "--repeat decides how many runs there are");
    job.compare.minRounds = job.compare.maxRounds = job.compare.roundsInAll = job.repeat;
    job.compare.maxStarts = job.compare.minStarts;
    job.compare.roundSeconds = 0;
    job.compare.maxSeconds = 1e9;
  }
};

} // namespace

int segmentsVerb(const Arguments &arguments) {
  SegmentFlags flags;
  Options options(
      "segments",
      "Time a network segment by segment, here and in another runtime: from the input to each checkpoint, and each\n"
      "block between two checkpoints alone, on the values that the whole network feeds it. The other runtime gets\n"
      "each part as ONNX, or runs it inside of a model of its own format. Outputs are compared at every\n"
      "checkpoint before anything is timed. The last lines name the checkpoints at which the ratio crosses 1, and the\n"
      "blocks that the other runtime computes faster. When interrupted, print and keep the parts that were measured.",
      "  lathe segments zoo:inception_v3 --with onnxruntime\n"
      "  lathe segments resnet50.onnx --checkpoints 16 --threads 2 --json segments.json\n"
      "  lathe segments model.onnx --at relu5,pool2 --repeat 200\n"
      "  lathe segments model.tflite --with tflite\n"
      "  lathe segments frozen.pb --with tensorflowjs --repeat 1     where do the outputs begin to differ?\n");
  flags.add(options);
  options.parseAll(arguments);
  Source source = loadSource(flags.job.model);
  if (flags.list) {
    Table places = placesTable(source);
    if (options.printsText())
      std::cout << places.str(options.tableStyle());
    options.writeJson({{"model", flags.job.model.model}, {"places", toJson(places)}});
    return success;
  }
  flags.job.command = arguments;
  bool agree = segments(flags.job, source, [&](const Segments &soFar, bool finished, const std::string &kept) {
    if (options.printsText())
      std::cout << segmentsText(soFar, flags.job, kept, options.tableStyle()) << std::flush;
    options.writeJson(segmentsJson(soFar, flags.job, finished));
  });
  return agree ? success : failedVerdict;
}

} // namespace lathe::cli
