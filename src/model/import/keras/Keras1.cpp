// Keras 1 had other names of options. Images with channels first ("th") are refused: Theano flips the kernels.
#include "import/keras/Recurrent.h"

#include <map>

namespace lathe::keras {
namespace {

using Renames = std::map<std::string, std::string>;

void rename(json &config, const Renames &names) {
  for (const auto &[old, current] : names)
    if (auto found = config.find(old); found != config.end()) {
      json value = *found;
      config.erase(found);
      if (!config.contains(current))
        config[current] = std::move(value);
    }
}

const Renames &commonNames() {
  static const Renames names = {{"bias", "use_bias"},
                                {"output_dim", "units"},
                                {"nb_filter", "filters"},
                                {"subsample", "strides"},
                                {"border_mode", "padding"},
                                {"inner_activation", "recurrent_activation"},
                                {"subsample_length", "strides"},
                                {"atrous_rate", "dilation_rate"},
                                {"p", "rate"}};
  return names;
}

void kernelSize(json &config) {
  for (auto names : {std::vector<const char *>{"nb_row", "nb_col"},
                     {"filter_length"},
                     {"kernel_dim1", "kernel_dim2", "kernel_dim3"}}) {
    json size = json::array();
    for (const char *name : names)
      if (const json &extent = member(config, name); !extent.is_null())
        size.push_back(extent);
    if (size.size() == names.size())
      config["kernel_size"] = size;
  }
}

} // namespace

void modernize(LayerConfig &layer) {
  json &config = layer.config;
  if (!config.is_object())
    return;
  std::string ordering = textMember(config, "dim_ordering");
  require(ordering.empty() || ordering == "tf" || ordering == "default",
          "layer '{}' has dim_ordering '{}', expected tf", layer.name, ordering);
  static const Renames classes = {{"Convolution1D", "Conv1D"},           {"Convolution2D", "Conv2D"},
                                  {"Convolution3D", "Conv3D"},           {"AtrousConvolution1D", "Conv1D"},
                                  {"AtrousConvolution2D", "Conv2D"},     {"SeparableConvolution2D", "SeparableConv2D"},
                                  {"Deconvolution2D", "Conv2DTranspose"}};
  if (auto found = classes.find(layer.className); found != classes.end())
    layer.className = found->second;
  if (layer.className == "Embedding") {
    rename(config, {{"dropout", "unused_dropout"}});
    return; // the option output_dim keeps its name
  }
  kernelSize(config);
  if (layer.className == "Dropout" || layer.className == "SpatialDropout2D")
    return;
  rename(config, commonNames());
  if (layer.className == "BatchNormalization") // Keras 1 always has both
    config["scale"] = config["center"] = true;
  if (layer.className == "Bidirectional" &&
      member(config, "layer").is_object()) { // TimeDistributed is read as its inner layer
    LayerConfig inner;
    inner.className = textMember(config["layer"], "class_name");
    inner.config = member(config["layer"], "config");
    modernize(inner);
    config["layer"]["config"] = inner.config;
  }
}

RecurrentCell cellOfGates(Layer &layer, const std::string &kind, const json &config, size_t &weight) {
  std::vector<int64_t> order = kind == "LSTM" ? std::vector<int64_t>{0, 2, 1, 3} : std::vector<int64_t>{0, 1, 2};
  mlir::Value joined[3];
  for (size_t part = 0; part < 3; ++part) {
    Values gates;
    for (int64_t gate : order)
      gates.push_back(layer.weight(weight + 3 * static_cast<size_t>(gate) + part));
    joined[part] = layer.emit("concat", gates, {{"axis", -1}});
  }
  weight += 3 * order.size();
  return {kind, &config, joined[0], joined[1], joined[2], 0};
}

RecurrentCell cellOfCudnn(Layer &layer, const std::string &className, const json &config, size_t &weight) {
  static const json options = {{"reset_after", true}};
  bool lstm = className == "CuDNNLSTM";
  int64_t units = integerMember(config, "units", 0), gates = lstm ? 4 : 3;
  auto turned = [&](mlir::Value matrix, bool swaps) { // rows x gates * units
    Dims dims = layer.dims(matrix);
    require(dims.size() == 2 && dims[0].isConstant() && dims[1] == Dim(gates * units) && units > 0,
            "a kernel is {}, expected {} columns", str(dims), gates * units);
    mlir::Operation *parts =
        layer.node.emitOp("split", {matrix}, {{"axis", 1}, {"sizes", Ints(static_cast<size_t>(gates), units)}});
    Values each;
    for (mlir::Value gate : parts->getResults())
      each.push_back(transpose(layer.node, swaps ? gate : layer.node.reshape(gate, {Dim(units), dims[0]}), {1, 0}));
    return layer.emit("concat", each, {{"axis", 1}});
  };
  RecurrentCell cell{lstm ? "LSTM" : "GRU",
                     &options,
                     turned(layer.weight(weight), false),
                     turned(layer.weight(weight + 1), true),
                     {},
                     units};
  mlir::Value both = layer.node.reshape(layer.weight(weight + 2), {Dim(2), Dim(gates * units)});
  cell.bias = lstm ? layer.emit("reduce_sum", {both}, {{"axes", Ints{0}}, {"keepdims", false}}) : both;
  weight += 3;
  return cell;
}

} // namespace lathe::keras
