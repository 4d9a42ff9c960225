#include "cli/print/QuantizePrint.h"

#include "support/Text.h"

namespace lathe::cli {
namespace {

using quantize::Report;

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

/// What packing has done to weights.
std::string packedText(const Report &report, const QuantizeJob &flags) {
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
  std::string text =
      fmt::format("weights of {} matrix products in {}, {} a scale, {} embeddings in int8\n", count - tables,
                  flags.weights, block ? fmt::format("{} weights", block) : "a column", tables);
  return text + fmt::format("weights beside the float weights: mean cosine {:.5f}, least {:.5f} ({})\n",
                            sum / static_cast<double>(count), *worst->cosine, printable(worst->node));
}

} // namespace

std::string quantizedText(const Quantized &quantized, const QuantizeJob &flags) {
  const Report &report = quantized.report;
  std::string text;
  if (!flags.weights.empty())
    text += packedText(report, flags);
  else if (flags.quantization.dynamic)
    text += fmt::format("{} matrix products in int8, their inputs quantised at run time\n", report.layers.size());
  else
    text += fmt::format("{} of {} layers in int8, {} activations in {} ({})\n", report.quantizedLayers(),
                        report.layers.size(), report.values, flags.activationType, flags.method);
  if (report.equalizedPairs)
    text += fmt::format("equalised {} pairs of layers\n", report.equalizedPairs);
  if (report.quantizedLayers() < report.layers.size())
    text += "kept in float:\n";
  for (const quantize::LayerReport &layer : report.layers)
    if (!layer.quantized)
      text += kept(layer);
  const quantize::Fidelity &fidelity = report.fidelity;
  if (!fidelity.compared())
    text += "outputs beside the float model: none has the same extents\n";
  else
    text +=
        fmt::format("outputs beside the float model, {}: cosine {:.5f} (least {:.5f}), centred {:.5f} (least {:.5f}), "
                    "{} of {} decisions changed\n",
                    flags.samples.path.empty() ? "other random inputs"
                    : flags.samples.crops      ? "other random crops"
                                               : "calibration inputs",
                    fidelity.cosine, fidelity.leastCosine, fidelity.centred, fidelity.leastCentred, fidelity.changed,
                    fidelity.decisions);
  if (report.floatSeconds)
    text += fmt::format("one run: float {}, quantised {} ({:.2f} times as fast)\n", secondsText(*report.floatSeconds),
                        secondsText(*report.intSeconds), *report.floatSeconds / *report.intSeconds);
  return text + "wrote " + flags.output + "\n" + quantized.kept;
}

nlohmann::json quantizedJson(const Quantized &quantized, const QuantizeJob &flags) {
  nlohmann::json json = reportJson(quantized.report);
  json["model"] = flags.model.model;
  json["file"] = flags.output;
  return json;
}

} // namespace lathe::cli
