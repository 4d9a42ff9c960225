#include "cli/flags/QuantizeFlags.h"

#include "cli/flags/PictureFlags.h"

namespace lathe::cli {

void QuantizeFlags::addCalibration(Options &options) {
  options
      .add_option(
          "--calibration", job.samples.path,
          "Calibrate with these inputs: a folder, or folders of classes in it, with a picture, an .npy or an .npz a "
          "sample, a CSV file that lists such files, or an .npz with an array for each input (default: random numbers)")
      ->type_name("DIR|F.csv|F.npz");
  options.add_option("--samples", job.samples.most, "Read at most this many calibration inputs")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  options
      .add_option("--random-crops", job.samples.crops,
                  "Calibrate with this many random crops of a folder's pictures; a crop has at least half of each side")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N");
  options.add_option("--seed", job.samples.seed, "Set the seed of random inputs and crops")->capture_default_str();
  options
      .add_option("--calibrate-method", job.method,
                  "Choose ranges of activations: minmax, percentile, or entropy (least Kullback-Leibler divergence)")
      ->check(CLI::IsMember({"minmax", "percentile", "entropy"}))
      ->capture_default_str();
  options
      .add_option("--percentile", job.quantization.percentile, "Set the share of values inside the range, in percent")
      ->check(CLI::Range(50.0, 100.0))
      ->capture_default_str();
  addPictures(options, job.samples.pictures);
  options.afterParse([this, &options] {
    job.quantization.method = quantize::methodFromName(job.method);
    if (job.method != "percentile")
      options.refuse({"--percentile"}, "only --calibrate-method percentile uses it");
    if (job.samples.path.empty())
      options.refuse({"--random-crops"}, "give the folder of pictures: --calibration DIR");
    else if (!job.samples.crops)
      options.refuse({"--seed"}, "--calibration draws no random numbers");
  });
  options.reads([this] { return std::vector<std::string>{job.samples.path}; });
}

void QuantizeFlags::addWeights(Options &options) {
  options.add_option("--activation-type", job.activationType, "Set the type of activations: uint8 or int8")
      ->check(CLI::IsMember({"uint8", "int8"}))
      ->capture_default_str();
  options.add_flag("--activation-symmetric", job.quantization.symmetricActivations,
                   "Set the zero points of activations to the middle of their type");
  options.add_flag("--per-tensor", perTensor, "Give weights one scale in all instead of one an output channel");
  options.add_flag("--reduce-range", job.quantization.reduceRange,
                   "Quantise weights to 7 bits, for processors without VNNI whose byte products saturate");
  options.add_flag("--dynamic", job.quantization.dynamic,
                   "Quantise the weights of matrix products, and their inputs at run time: for transformers");
  options.add_flag("--equalize", job.quantization.equalize,
                   "Equalise the ranges of weights across layers first (Nagel et al. 2019)");
  options
      .add_option("--bias-correction", job.biasCorrection,
                  "Correct biases for the mean error of rounded weights, and of layers as measured: none, weights or "
                  "measured")
      ->check(CLI::IsMember({"none", "weights", "measured"}))
      ->capture_default_str();
  options
      .add_option("--nodes-to-exclude", job.excluded, "Keep these layers in float: names of nodes, separated by commas")
      ->delimiter(',')
      ->type_name("NODE");
  options
      .add_option(
          "--max-drop", job.quantization.maxDrop,
          "Keep layers in float until at most this share of the calibration inputs changes its decision, in percent")
      ->check(CLI::Range(0.0, 100.0));
  options
      .add_option(
          "--min-cosine", job.quantization.minCosine,
          "Keep layers in float until the outputs' mean cosine similarity is at least this, plain and centred; 0: "
          "any")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  options.add_flag("--only-faster", job.quantization.onlyFaster,
                   "Keep layers in float that int8 makes no faster on this machine (measured)");
  options.afterParse([this, &options] {
    job.quantization.activationType = job.activationType == "int8" ? ElementType::i8 : ElementType::u8;
    if (job.quantization.dynamic)
      options.refuse({"--calibrate-method", "--activation-type", "--activation-symmetric", "--per-tensor",
                      "--reduce-range", "--equalize", "--bias-correction", "--max-drop", "--min-cosine",
                      "--only-faster", "--weights"},
                     "--dynamic takes ranges while the model runs");
    readWeights(options);
    job.quantization.perChannel = !perTensor;
    job.quantization.biasCorrection = job.biasCorrection == "none"      ? quantize::BiasCorrection::none
                                      : job.biasCorrection == "weights" ? quantize::BiasCorrection::weights
                                                                        : quantize::BiasCorrection::measured;
    job.quantization.excluded.insert(job.excluded.begin(), job.excluded.end());
  });
}

void QuantizeFlags::addWeightsAlone(Options &options) {
  options
      .add_option(
          "--weights", job.weights,
          "Quantise the weights of matrix products and of embeddings alone, to int8 or int4; activations stay in "
          "float: for transformers")
      ->check(CLI::IsMember({"int8", "int4"}));
  options
      .add_option(
          "--block", block,
          "Give so many weights of a column one scale with --weights; 0: the whole column (default: 32 for int4, 0 "
          "for int8)")
      ->check(CLI::Range(0, 1 << 20));
  options.add_flag("--zero-points", job.quantization.weights.zeroPoints,
                   "Give each block a zero point, too, with --weights");
}

void QuantizeFlags::readWeights(Options &options) {
  if (job.weights.empty())
    return options.refuse({"--block", "--zero-points"}, "they say how --weights stores weights");
  options.refuse({"--calibrate-method", "--activation-type", "--activation-symmetric", "--per-tensor", "--reduce-range",
                  "--equalize", "--bias-correction", "--max-drop", "--min-cosine", "--only-faster"},
                 "--weights leaves activations in float");
  job.quantization.weights.type = job.weights == "int4" ? ElementType::i4 : ElementType::i8;
  job.quantization.weights.block = block.value_or(job.weights == "int4" ? 32 : 0);
}

void QuantizeFlags::add(Options &options) {
  addModel(options, job.model, ModelUse::compile);
  addRecord(options, job.record, &job.model);
  options.addOutput("-o,--output", job.output, "Write the quantised ONNX model here (-: standard output)")
      ->type_name("Q.onnx")
      ->required();
  addCalibration(options);
  addWeights(options);
  addWeightsAlone(options);
  options.addShowing();
}

} // namespace lathe::cli
