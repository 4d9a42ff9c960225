// `lathe quantize`: converts a float model to an int8 model in ONNX's QDQ form.
#include "cli/CompilerVerbs.h"
#include "cli/Recording.h"
#include "cli/models/ModelFormat.h"
#include "cli/print/Terminal.h"
#include "cli/samples/Samples.h"
#include "export/onnx/Export.h"
#include "passes/interpret/Ports.h"
#include "quantize/Quantize.h"
#include "support/PendingFile.h"
#include "support/Text.h"

#include <cmath>
#include <iostream>

namespace lathe::cli {
namespace {

using quantize::Report;

/// The flags of `lathe quantize`.
struct QuantizeFlags {
  ModelFlags model;
  SampleFlags samples;
  quantize::Options quantization;
  RecordFlags record;
  std::string output, method = "minmax", activationType = "uint8";
  std::vector<std::string> excluded;
  std::string biasCorrection = "measured";
  bool perTensor = false;
  std::string weights;
  std::optional<int64_t> block;

  void add(Options &options);
  nlohmann::json settings() const;

private:
  void addCalibration(Options &options);
  void addWeights(Options &options);
  void addWeightsAlone(Options &options);
  void readWeights(Options &options);
};

void QuantizeFlags::addCalibration(Options &options) {
  options
      .add_option(
          "--calibration", samples.path,
          "Calibrate with these inputs: a folder, or folders of classes in it, with a picture, an .npy or an .npz a "
          "sample, a CSV file that lists such files, or an .npz with an array for each input (default: random numbers)")
      ->type_name("DIR|F.csv|F.npz");
  options.add_option("--samples", samples.most, "Read at most this many calibration inputs")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  options
      .add_option("--random-crops", samples.crops,
                  "Calibrate with this many random crops of a folder's pictures; a crop has at least half of each side")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N");
  options.add_option("--seed", samples.seed, "Set the seed of random inputs and crops")->capture_default_str();
  options
      .add_option("--calibrate-method", method,
                  "Choose ranges of activations: minmax, percentile, or entropy (least Kullback-Leibler divergence)")
      ->check(CLI::IsMember({"minmax", "percentile", "entropy"}))
      ->capture_default_str();
  options.add_option("--percentile", quantization.percentile, "Set the share of values inside the range, in percent")
      ->check(CLI::Range(50.0, 100.0))
      ->capture_default_str();
  samples.pictures.add(options);
  options.afterParse([this, &options] {
    quantization.method = quantize::methodFromName(method);
    if (method != "percentile")
      options.refuse({"--percentile"}, "only --calibrate-method percentile uses it");
    if (samples.path.empty())
      options.refuse({"--random-crops"}, "give the folder of pictures: --calibration DIR");
    else if (!samples.crops)
      options.refuse({"--seed"}, "--calibration draws no random numbers");
  });
  options.reads([this] { return std::vector<std::string>{samples.path}; });
}

void QuantizeFlags::addWeights(Options &options) {
  options.add_option("--activation-type", activationType, "Set the type of activations: uint8 or int8")
      ->check(CLI::IsMember({"uint8", "int8"}))
      ->capture_default_str();
  options.add_flag("--activation-symmetric", quantization.symmetricActivations,
                   "Set the zero points of activations to the middle of their type");
  options.add_flag("--per-tensor", perTensor, "Give weights one scale in all instead of one an output channel");
  options.add_flag("--reduce-range", quantization.reduceRange,
                   "Quantise weights to 7 bits, for processors without VNNI whose byte products saturate");
  options.add_flag("--dynamic", quantization.dynamic,
                   "Quantise the weights of matrix products, and their inputs at run time: for transformers");
  options.add_flag("--equalize", quantization.equalize,
                   "Equalise the ranges of weights across layers first (Nagel et al. 2019)");
  options
      .add_option("--bias-correction", biasCorrection,
                  "Correct biases for the mean error of rounded weights, and of layers as measured: none, weights or "
                  "measured")
      ->check(CLI::IsMember({"none", "weights", "measured"}))
      ->capture_default_str();
  options.add_option("--nodes-to-exclude", excluded, "Keep these layers in float: names of nodes, separated by commas")
      ->delimiter(',')
      ->type_name("NODE");
  options
      .add_option(
          "--max-drop", quantization.maxDrop,
          "Keep layers in float until at most this share of the calibration inputs changes its decision, in percent")
      ->check(CLI::Range(0.0, 100.0));
  options
      .add_option(
          "--min-cosine", quantization.minCosine,
          "Keep layers in float until the outputs' mean cosine similarity is at least this, plain and centred; 0: "
          "any")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  options.add_flag("--only-faster", quantization.onlyFaster,
                   "Keep layers in float that int8 makes no faster on this machine (measured)");
  options.afterParse([this, &options] {
    quantization.activationType = activationType == "int8" ? ElementType::i8 : ElementType::u8;
    if (quantization.dynamic)
      options.refuse({"--calibrate-method", "--activation-type", "--activation-symmetric", "--per-tensor",
                      "--reduce-range", "--equalize", "--bias-correction", "--max-drop", "--min-cosine",
                      "--only-faster", "--weights"},
                     "--dynamic takes ranges while the model runs");
    readWeights(options);
    quantization.perChannel = !perTensor;
    quantization.biasCorrection = biasCorrection == "none"      ? quantize::BiasCorrection::none
                                  : biasCorrection == "weights" ? quantize::BiasCorrection::weights
                                                                : quantize::BiasCorrection::measured;
    quantization.excluded.insert(excluded.begin(), excluded.end());
  });
}

void QuantizeFlags::addWeightsAlone(Options &options) {
  options
      .add_option(
          "--weights", weights,
          "Quantise the weights of matrix products and of embeddings alone, to int8 or int4; activations stay in "
          "float: for transformers")
      ->check(CLI::IsMember({"int8", "int4"}));
  options
      .add_option(
          "--block", block,
          "Give so many weights of a column one scale with --weights; 0: the whole column (default: 32 for int4, 0 "
          "for int8)")
      ->check(CLI::Range(0, 1 << 20));
  options.add_flag("--zero-points", quantization.weights.zeroPoints,
                   "Give each block a zero point, too, with --weights");
}

void QuantizeFlags::readWeights(Options &options) {
  if (weights.empty())
    return options.refuse({"--block", "--zero-points"}, "they say how --weights stores weights");
  options.refuse({"--calibrate-method", "--activation-type", "--activation-symmetric", "--per-tensor", "--reduce-range",
                  "--equalize", "--bias-correction", "--max-drop", "--min-cosine", "--only-faster"},
                 "--weights leaves activations in float");
  quantization.weights.type = weights == "int4" ? ElementType::i4 : ElementType::i8;
  quantization.weights.block = block.value_or(weights == "int4" ? 32 : 0);
}

void QuantizeFlags::add(Options &options) {
  model.add(options, ModelUse::compile);
  record.add(options, &model);
  options.addOutput("-o,--output", output, "Write the quantised ONNX model here (-: standard output)")
      ->type_name("Q.onnx")
      ->required();
  addCalibration(options);
  addWeights(options);
  addWeightsAlone(options);
  options.addQuiet();
  options.addWide();
  options.addJson();
}

nlohmann::json QuantizeFlags::settings() const {
  return {{"method", method},
          {"percentile", quantization.percentile},
          {"activations", activationType},
          {"symmetric", quantization.symmetricActivations},
          {"per_channel", quantization.perChannel},
          {"reduce_range", quantization.reduceRange},
          {"dynamic", quantization.dynamic},
          {"equalize", quantization.equalize},
          {"bias_correction", biasCorrection},
          {"excluded", excluded},
          {"max_drop", quantization.maxDrop.value_or(-1)},
          {"min_cosine", quantization.minCosine},
          {"only_faster", quantization.onlyFaster},
          {"samples", samples.most},
          {"random_crops", samples.crops},
          {"seed", samples.seed}};
}

nlohmann::json layerJson(const quantize::LayerReport &layer) {
  nlohmann::json json{{"node", layer.node}, {"op", layer.op}, {"quantized", layer.quantized}, {"reason", layer.reason}};
  if (layer.noise)
    json["noise_to_signal"] = *layer.noise;
  if (layer.cosine)
    json["weights_cosine"] = *layer.cosine;
  if (layer.floatSeconds) {
    json["float_seconds"] = *layer.floatSeconds;
    json["int8_seconds"] = *layer.intSeconds;
  }
  return json;
}

nlohmann::json reportJson(const Report &report) {
  const quantize::Fidelity &fidelity = report.fidelity;
  nlohmann::json json{{"layers", nlohmann::json::array()},
                      {"quantized_layers", report.quantizedLayers()},
                      {"quantized_values", report.values},
                      {"equalized_pairs", report.equalizedPairs},
                      {"inputs", fidelity.inputs},
                      {"cosine", fidelity.cosine},
                      {"least_cosine", fidelity.leastCosine},
                      {"centred_cosine", fidelity.centred},
                      {"least_centred_cosine", fidelity.leastCentred},
                      {"decisions", fidelity.decisions},
                      {"changed_decisions", fidelity.changed},
                      {"inputs_left_out", fidelity.leftOut},
                      {"warnings", report.warnings}};
  for (const quantize::LayerReport &layer : report.layers)
    json["layers"].push_back(layerJson(layer));
  if (report.floatSeconds) {
    json["float_seconds"] = *report.floatSeconds;
    json["int8_seconds"] = *report.intSeconds;
  }
  return json;
}

std::string kept(const quantize::LayerReport &layer) {
  std::string text = fmt::format("  {} ({}): {}", printable(layer.node), layer.op, layer.reason);
  if (layer.floatSeconds)
    text += fmt::format(": float {}, int8 {}", secondsText(*layer.floatSeconds), secondsText(*layer.intSeconds));
  if (layer.noise)
    text += fmt::format(", noise-to-signal ratio {:.2g}", *layer.noise);
  return text + "\n";
}

/// Prints the effect of packing on weights.
void printPacked(const Report &report, const QuantizeFlags &flags) {
  const quantize::LayerReport *worst = &report.layers.front();
  double sum = 0;
  int64_t tables = 0;
  for (const quantize::LayerReport &layer : report.layers) {
    sum += *layer.cosine;
    tables += layer.op == "gather";
    if (*layer.cosine < *worst->cosine)
      worst = &layer;
  }
  auto count = static_cast<int64_t>(report.layers.size());
  int64_t block = flags.quantization.weights.block;
  std::cout << fmt::format("weights of {} matrix products in {}, {} a scale, {} embeddings in int8\n", count - tables,
                           flags.weights, block ? fmt::format("{} weights", block) : "a column", tables);
  std::cout << fmt::format("weights beside the float weights: mean cosine {:.5f}, least {:.5f} ({})\n",
                           sum / static_cast<double>(count), *worst->cosine, printable(worst->node));
}

void print(const Report &report, const QuantizeFlags &flags) {
  if (!flags.weights.empty())
    printPacked(report, flags);
  else if (flags.quantization.dynamic)
    std::cout << fmt::format("{} matrix products in int8, their inputs quantised at run time\n", report.layers.size());
  else
    std::cout << fmt::format("{} of {} layers in int8, {} activations in {} ({})\n", report.quantizedLayers(),
                             report.layers.size(), report.values, flags.activationType, flags.method);
  if (report.equalizedPairs)
    std::cout << fmt::format("equalised {} pairs of layers\n", report.equalizedPairs);
  if (report.quantizedLayers() < report.layers.size())
    std::cout << "kept in float:\n";
  for (const quantize::LayerReport &layer : report.layers)
    if (!layer.quantized)
      std::cout << kept(layer);
  const quantize::Fidelity &fidelity = report.fidelity;
  if (!fidelity.compared())
    std::cout << "outputs beside the float model: none has the same extents\n";
  else
    std::cout << fmt::format(
        "outputs beside the float model, {}: cosine {:.5f} (least {:.5f}), centred {:.5f} (least {:.5f}), "
        "{} of {} decisions changed\n",
        flags.samples.path.empty() ? "other random inputs"
        : flags.samples.crops      ? "other random crops"
                                   : "calibration inputs",
        fidelity.cosine, fidelity.leastCosine, fidelity.centred, fidelity.leastCentred, fidelity.changed,
        fidelity.decisions);
  if (report.floatSeconds)
    std::cout << fmt::format("one run: float {}, quantised {} ({:.2f} times as fast)\n",
                             secondsText(*report.floatSeconds), secondsText(*report.intSeconds),
                             *report.floatSeconds / *report.intSeconds);
}

/// The quantised model as a point of the float model: its accuracy, and what was quantised.
store::Point pointOf(const Report &report, const QuantizeFlags &flags, const store::Problem &problem) {
  store::Point point;
  point.problem = problem;
  point.provider = "lathe";
  point.providerVersion = LATHE_VERSION;
  point.setting = modelSetting(flags.model, 0, {});
  point.setting.type = flags.activationType;
  point.status = store::PointStatus::passed;
  const quantize::Fidelity &fidelity = report.fidelity;
  point.figures = {{"layers", static_cast<double>(report.layers.size())},
                   {"quantized_layers", static_cast<double>(report.quantizedLayers())},
                   {"inputs", static_cast<double>(fidelity.inputs)},
                   {"cosine", fidelity.cosine},
                   {"least_cosine", fidelity.leastCosine},
                   {"centred_cosine", fidelity.centred},
                   {"least_centred_cosine", fidelity.leastCentred},
                   {"changed_decisions", static_cast<double>(fidelity.changed)}};
  if (report.floatSeconds)
    point.figures["speedup"] = *report.floatSeconds / *report.intSeconds;
  std::erase_if(point.figures, [](const auto &figure) { return !std::isfinite(figure.second); });
  return point;
}

} // namespace

int quantizeVerb(const Arguments &arguments) {
  QuantizeFlags flags;
  Options options(
      "quantize",
      "Quantise a model to int8 after training, and write it in ONNX's QDQ form, which other runtimes read, too.\n"
      "Activations get ranges from calibration inputs; weights get one scale an output channel. The outputs are\n"
      "compared with the float model's on the calibration inputs.",
      "  lathe quantize resnet50.onnx --calibration images/ --fit crop --mean 0.485,0.456,0.406 --std "
      "0.229,0.224,0.225 -o q.onnx\n"
      "  lathe quantize model.onnx --calibration inputs.npz --calibrate-method entropy --max-drop 1 -o q.onnx\n"
      "  lathe quantize zoo:mobilenet_v2 --only-faster -o q.onnx\n"
      "  lathe quantize zoo:gpt2_small_past --weights int4 -o q.onnx\n");
  flags.add(options);
  options.parseAll(arguments);
  requireNoTerminal(flags.output, "an ONNX file");
  requireOnnxName(flags.output);
  PendingFile::check(flags.output);

  Recording recording(flags.record, store::ExperimentKind::quantize, "quantize", arguments, flags.settings());
  Progress progress("quantize " + flags.model.model);
  Source source = loadSource(flags.model);
  store::Problem problem = modelProblem(flags.model, sourceText(flags.model, source),
                                        flags.samples.path.empty() ? "random inputs" : "calibrated");
  flags.samples.shapes = flags.model.shapes;
  std::vector<runtime::Port> ports = inputPorts(*source.module);
  flags.samples.pictures.takeFrom(flags.model.model);
  auto samples = loadSamples(
      ports, flags.samples, [&](size_t done, size_t total) { progress.update("reading inputs", done, total); },
      &flags.quantization.inputNames);
  flags.quantization.check = [&](mlir::ModuleOp graph) { requireOnnxForm(graph, flags.model.model); };
  flags.quantization.compile = compileOptions(flags.model, nullptr);
  flags.quantization.progress = [&](const std::string &what, size_t done, size_t total) {
    progress.update(what, done, total);
  };
  // Random numbers are cheap: the comparison uses other numbers than the calibration.
  decltype(samples) others;
  if (flags.samples.path.empty() || flags.samples.crops) {
    SampleFlags fresh = flags.samples;
    fresh.seed += 1;
    others = loadSamples(ports, fresh, {});
  }
  Report report = quantize::quantizeModel(*source.module, samples, flags.quantization, others);
  exportOnnxFile(*source.module, flags.output);
  recording.add({pointOf(report, flags, problem)});
  recording.finish();
  if (options.printsText()) {
    print(report, flags);
    std::cout << "wrote " << flags.output << "\n" << recording.line();
  }
  for (const std::string &warning : report.warnings)
    say(fmt::format("warning: {}", warning)); // names of the model appear in it
  nlohmann::json json = reportJson(report);
  json["model"] = flags.model.model;
  json["file"] = flags.output;
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
