// `lathe evaluate`: evaluates a classifier on pictures.
#include "cli/FrontVerbs.h"
#include "cli/flags/Describe.h"
#include "cli/flags/PictureFlags.h"
#include "cli/flags/RunFlags.h"
#include "cli/flags/TfliteLibrary.h"
#include "cli/print/measure/EvaluatePrint.h"

#include <iostream>

namespace lathe::cli {
namespace {

struct EvaluateFlags {
  EvaluateJob job;

  void add(Options &options) {
    addModel(options, job.model, ModelUse::run);
    addRecord(options, job.record, &job.model);
    addLoading(options, job.model);
    addData(options, job.data,
            "Read pictures or .npy files from a folder with a folder a class, from a folder without classes, or from a "
            "CSV file with the columns file and class; or arrays with an array labels from an .npz file");
    options.get_option("--data")->required();
    options
        .add_option("--against", job.against,
                    "Decide with this model, too, and count changed decisions: a model, a package, onnxruntime or "
                    "tflite")
        ->check(offers({"onnxruntime", "tflite"}))
        ->type_name("OTHER");
    options.add_option("--seed", job.seed, "Set the seed of random crops")->capture_default_str();
    options.addOutput("--confusion", job.confusion, "Write the confusion matrix as a picture")
        ->type_name("F.svg|F.png");
    addTfliteLibrary(options);
    addPictures(options, job.pictures);
    options.addShowing();
    options.reads([this] { return std::vector<std::string>{job.against}; });
    options.afterParse([this, &options] {
      if (job.data.crops == 0)
        options.refuse({"--seed"}, "only --random-crops draws random numbers");
      if (job.data.data.ends_with(".npz"))
        options.refuse({"--random-crops", "--preprocess", "--fit", "--resize", "--pixel-range", "--mean", "--std",
                        "--channels", "--input-layout", "--input-scale", "--input-zero-point"},
                       "the arrays of an .npz file become inputs as they are");
      require(job.confusion.empty() || job.confusion.ends_with(".svg") || job.confusion.ends_with(".png"),
              "--confusion {}: is no name of a picture, expected one that ends in .svg or .png", job.confusion);
    });
  }
};

} // namespace

int evaluateVerb(const Arguments &arguments) {
  EvaluateFlags flags;
  Options options(
      "evaluate",
      "Classify pictures with a model: top-1 and top-5 accuracy, precision, recall and F1 of each class, the "
      "confusion\n"
      "matrix and the latency. With --against, count the pictures for which another model or runtime decides "
      "otherwise.",
      "  lathe evaluate resnet50.onnx --data val/ --labels labels.txt --fit crop --mean 0.485,0.456,0.406 --std "
      "0.229,0.224,0.225\n"
      "  lathe evaluate q.onnx --data val.csv --labels labels.txt --against resnet50.onnx --confusion confusion.svg\n"
      "  lathe evaluate flowers.tflite --data val/ --preprocess model\n"
      "  lathe evaluate digits.tflite --data test.npz --against digits.h5     arrays with an array labels\n"
      "  lathe evaluate q.onnx --data pictures/ --random-crops 200 --against onnxruntime\n");
  flags.add(options);
  options.parseAll(arguments);
  flags.job.command = arguments;
  Evaluation evaluation = evaluatePictures(flags.job);
  if (options.printsText())
    std::cout << evaluationText(evaluation, flags.job, options.tableStyle());
  options.writeJson(evaluationJson(evaluation, flags.job));
  return success;
}

} // namespace lathe::cli
