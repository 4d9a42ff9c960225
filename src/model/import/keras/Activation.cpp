// Activations, as options of other layers (by name) and as layers.
#include "import/keras/Custom.h"

namespace lathe::keras {
namespace {

using Ints = std::vector<int64_t>;

/// max(0, min(1, (x + 3) / 6))
mlir::Value hardSigmoid(Layer &layer, mlir::Value x) {
  // Keras 3 uses PyTorch's slope of 1/6; earlier versions use 0.2.
  double alpha = layer.version() >= 3 ? 1.0 / 6 : 0.2;
  return layer.emit("hard_sigmoid", {x}, {{"alpha", alpha}, {"beta", 0.5}});
}

mlir::Value logSigmoid(Layer &layer, mlir::Value x) {
  return layer.emit("neg", {layer.emit("softplus", {layer.emit("neg", {x})})});
}

mlir::Value squareplus(Layer &layer, mlir::Value x, double b) {
  mlir::Value root = layer.emit("sqrt", {layer.emit("add", {layer.emit("mul", {x, x}), layer.scalar(b)})});
  return layer.emit("mul", {layer.emit("add", {x, root}), layer.scalar(0.5)});
}

/// Splits the last axis in halves: the first half times the sigmoid of the second half.
mlir::Value gated(Layer &layer, mlir::Value x, int64_t axis) {
  int64_t rank = layer.rank(x);
  const Dim &extent = layer.dims(x).at(static_cast<size_t>(axis < 0 ? axis + rank : axis));
  if (!extent.isConstant())
    layer.unsupported(fmt::format("the extent '{}' that is halved is not known", extent.str()));
  int64_t half = extent.constant() / 2;
  mlir::Operation *parts =
      layer.node.emitOp("split", {x}, {{"axis", axis}, {"sizes", Ints{half, extent.constant() - half}}});
  return layer.emit("mul", {parts->getResult(0), layer.emit("sigmoid", {parts->getResult(1)})});
}

/// 0 below -1, x above 1, the parabola ((x + 1) / 2)^2 between.
mlir::Value sparsePlus(Layer &layer, mlir::Value x) {
  mlir::Value one = layer.scalar(1), half = layer.emit("mul", {layer.emit("add", {x, one}), layer.scalar(0.5)});
  mlir::Value y = layer.emit("where", {layer.emit("greater", {x, one}), x, layer.emit("mul", {half, half})});
  return layer.emit("where", {layer.emit("greater", {x, layer.scalar(-1)}), y, layer.scalar(0)});
}

/// The importer of an activation, with the options from a class or a function object.
using Named = mlir::Value (*)(Layer &, mlir::Value, const json &options);

mlir::Value gelu(Layer &layer, mlir::Value x, const json &options) {
  bool approximate = flagMember(options, "approximate", false);
  return layer.emit("gelu", {x}, {{"approximate", approximate ? "tanh" : "none"}});
}

/// ReLU with a limit, a slope and a threshold: x above the threshold, slope * (x - threshold) below.
mlir::Value generalRelu(Layer &layer, mlir::Value x, double slope, double threshold, std::optional<double> limit) {
  mlir::Value y;
  if (threshold == 0) {
    if (slope == 0 && limit)
      return layer.emit("clip", {x}, {{"min", 0.0}, {"max", *limit}});
    y = slope == 0 ? layer.emit("relu", {x}) : layer.emit("leaky_relu", {x}, {{"alpha", slope}});
  } else {
    mlir::Value t = layer.scalar(threshold);
    mlir::Value below =
        slope == 0 ? layer.scalar(0) : layer.emit("mul", {layer.emit("sub", {x, t}), layer.scalar(slope)});
    mlir::Value above = layer.emit("greater_equal", {x, t});
    y = layer.emit("where", {above, x, below});
  }
  return limit ? layer.emit("clip", {y}, {{"max", *limit}}) : y;
}

std::optional<double> limitOf(const json &options) {
  if (member(options, "max_value").is_null())
    return std::nullopt;
  return numberMember(options, "max_value", 0);
}

mlir::Value relu(Layer &layer, mlir::Value x, const json &options) {
  double slope = numberMember(options, "negative_slope", numberMember(options, "alpha", 0));
  return generalRelu(layer, x, slope, numberMember(options, "threshold", 0), limitOf(options));
}

double slopeOf(const json &options, double fallback) { // Keras 3 names it negative_slope
  return numberMember(options, "negative_slope", numberMember(options, "alpha", fallback));
}

mlir::Value softmaxAlong(Layer &layer, mlir::Value x, const json &axis, const char *mnemonic) {
  if (!axis.is_array())
    return layer.emit(mnemonic, {x}, {{"axis", axis.is_number_integer() ? axis.get<int64_t>() : int64_t(-1)}});
  if (axis.size() == 1)
    return softmaxAlong(layer, x, axis[0], mnemonic);
  // Several axes: exp(x - logsumexp(x)).
  Ints axes;
  for (const json &each : axis)
    axes.push_back(each.get<int64_t>());
  mlir::Value most = layer.emit("reduce_max", {x}, {{"axes", axes}, {"keepdims", true}});
  mlir::Value powers = layer.emit("exp", {layer.emit("sub", {x, most})});
  mlir::Value sum = layer.emit("reduce_sum", {powers}, {{"axes", axes}, {"keepdims", true}});
  return layer.emit("div", {powers, sum});
}

/// Activations that are one operator without options, by name.
constexpr std::pair<std::string_view, const char *> operators[] = {{"selu", "selu"},
                                                                   {"softplus", "softplus"},
                                                                   {"softsign", "softsign"},
                                                                   {"soft_sign", "softsign"},
                                                                   {"tanh", "tanh"},
                                                                   {"sigmoid", "sigmoid"},
                                                                   {"exponential", "exp"},
                                                                   {"mish", "mish"},
                                                                   {"hard_silu", "hard_swish"},
                                                                   {"hard_swish", "hard_swish"},
                                                                   {"swish", "swish"},
                                                                   {"silu", "swish"}};

/// Activations with options, and activations of several operators.
const std::map<std::string, Named> &composed() {
  static const std::map<std::string, Named> table = {
      {"linear", [](Layer &, mlir::Value x, const json &) { return x; }},
      {"relu", relu},
      {"relu6", [](Layer &l, mlir::Value x, const json &) { return generalRelu(l, x, 0, 0, 6); }},
      {"leaky_relu", [](Layer &l, mlir::Value x, const json &o) { return generalRelu(l, x, slopeOf(o, 0.2), 0, {}); }},
      {"elu", [](Layer &l, mlir::Value x,
                 const json &o) { return l.emit("elu", {x}, {{"alpha", numberMember(o, "alpha", 1)}}); }},
      {"celu", [](Layer &l, mlir::Value x,
                  const json &o) { return l.emit("celu", {x}, {{"alpha", numberMember(o, "alpha", 1)}}); }},
      {"hard_sigmoid", [](Layer &l, mlir::Value x, const json &) { return hardSigmoid(l, x); }},
      {"gelu", gelu},
      {"glu", [](Layer &l, mlir::Value x, const json &o) { return gated(l, x, integerMember(o, "axis", -1)); }},
      {"log_sigmoid", [](Layer &l, mlir::Value x, const json &) { return logSigmoid(l, x); }},
      {"softmax",
       [](Layer &l, mlir::Value x, const json &o) { return softmaxAlong(l, x, member(o, "axis"), "softmax"); }},
      {"log_softmax",
       [](Layer &l, mlir::Value x, const json &o) { return softmaxAlong(l, x, member(o, "axis"), "log_softmax"); }},
      {"hard_tanh",
       [](Layer &l, mlir::Value x, const json &) { return l.emit("clip", {x}, {{"min", -1.0}, {"max", 1.0}}); }},
      {"hard_shrink",
       [](Layer &l, mlir::Value x, const json &o) {
         return l.emit("shrink", {x}, {{"bias", 0.0}, {"lambd", numberMember(o, "threshold", 0.5)}});
       }},
      {"soft_shrink",
       [](Layer &l, mlir::Value x, const json &o) {
         double t = numberMember(o, "threshold", 0.5);
         return l.emit("shrink", {x}, {{"bias", t}, {"lambd", t}});
       }},
      {"tanh_shrink", [](Layer &l, mlir::Value x, const json &) { return l.emit("sub", {x, l.emit("tanh", {x})}); }},
      {"squareplus", [](Layer &l, mlir::Value x, const json &o) { return squareplus(l, x, numberMember(o, "b", 4)); }},
      {"sparse_plus", [](Layer &l, mlir::Value x, const json &) { return sparsePlus(l, x); }},
      {"sparse_sigmoid", [](Layer &l, mlir::Value x,
                            const json &) { return l.emit("hard_sigmoid", {x}, {{"alpha", 0.5}, {"beta", 0.5}}); }},
      {"threshold",
       [](Layer &l, mlir::Value x, const json &o) {
         mlir::Value above = l.emit("greater", {x, l.scalar(numberMember(o, "threshold", 0))});
         return l.emit("where", {above, x, l.scalar(numberMember(o, "default_value", 0))});
       }},
  };
  return table;
}

/// Applies the activation `name`; null if there is none.
mlir::Value applied(Layer &layer, mlir::Value x, const std::string &name, const json &options) {
  for (const auto &[known, mnemonic] : operators)
    if (name == known)
      return layer.emit(mnemonic, {x});
  auto found = composed().find(name);
  return found == composed().end() ? mlir::Value() : found->second(layer, x, options);
}

/// "LeakyReLU" as an activation is the layer; "LeakyRelu" and "Swish" stand for functions.
std::string functionName(const std::string &className) {
  static const std::map<std::string, std::string> names = {
      {"ReLU", "relu"}, {"LeakyReLU", "leaky_relu"}, {"ELU", "elu"},   {"SELU", "selu"},
      {"GELU", "gelu"}, {"Softmax", "softmax"},      {"SiLU", "silu"}, {"Mish", "mish"}};
  auto found = names.find(className);
  return found == names.end() ? className : found->second;
}

// ---- Layers -------------------------------------------------------------------------------------------------------

void importActivation(Layer &layer) { layer.set(activate(layer, layer.in(), member(layer.config, "activation"))); }

void importRelu(Layer &layer) { layer.set(relu(layer, layer.in(), layer.config)); }

void importLeakyRelu(Layer &layer) {
  layer.set(layer.emit("leaky_relu", {layer.in()}, {{"alpha", slopeOf(layer.config, 0.3)}}));
}

void importPrelu(Layer &layer) {
  layer.expectWeights(1);
  layer.set(layer.emit("prelu", {layer.in(), layer.weight(0)}));
}

void importElu(Layer &layer) { layer.set(layer.emit("elu", {layer.in()}, {{"alpha", layer.number("alpha", 1)}})); }

void importThresholdedRelu(Layer &layer) {
  layer.set(layer.emit("thresholded_relu", {layer.in()}, {{"alpha", layer.number("theta", 1)}}));
}

void importSoftmax(Layer &layer) {
  if (layer.tensorCount() > 1)
    layer.unsupported("a mask as an argument is not supported");
  layer.set(softmaxAlong(layer, layer.in(), member(layer.config, "axis"), "softmax"));
}

/// A function of keras.ops.nn, keras.activations or TensorFlow on one tensor: "ops.LeakyRelu" is leaky_relu.
void importFunction(Layer &layer) {
  const std::string &op = layer.node.record.op;
  std::string name;
  for (char letter : op.substr(op.rfind('.') + 1)) {
    if (llvm::isUpper(letter) && !name.empty())
      name += '_';
    name += llvm::toLower(letter);
  }
  layer.set(applied(layer, layer.in(), name, layer.config));
}

/// keras.ops approximates by default, keras.activations does not.
void importGeluFunction(Layer &layer) {
  layer.set(layer.emit("gelu", {layer.in()}, {{"approximate", layer.flag("approximate", true) ? "tanh" : "none"}}));
}

} // namespace

namespace {

/// A function on one tensor, written as "relu", as {"class_name": "LeakyReLU", "config": {...}}, or as in Keras 3 with
/// the function's name as its configuration.
struct NamedFunction {
  std::string name;
  json options;
};

NamedFunction readActivation(const json &activation) {
  NamedFunction read;
  if (activation.is_string()) {
    read.name = activation.get<std::string>();
  } else {
    read.name = textMember(activation, "class_name");
    read.options = member(activation, "config");
    if (read.name == "function" || read.name == "Activation") {
      read.name = read.options.is_string() ? read.options.get<std::string>() : textMember(read.options, "activation");
      read.options = json();
    } else if (read.name == "LeakyReLU" && !read.options.contains("alpha") &&
               !read.options.contains("negative_slope")) {
      read.options = {{"alpha", 0.3}};
    }
    read.name = functionName(read.name);
  }
  if (size_t package = read.name.rfind('>'); package != std::string::npos)
    read.name.erase(0, package + 1);
  return read;
}

} // namespace

std::string activationName(const json &activation) {
  try {
    return activation.is_null() ? "" : readActivation(activation).name;
  } catch (const Error &) { // the import of its layer reports the error
    return "";
  }
}

mlir::Value activate(Layer &layer, mlir::Value x, const json &activation) {
  if (activation.is_null())
    return x;
  auto [name, options] = readActivation(activation);
  const auto &custom = layer.node.graph.options.custom;
  if (auto defined = custom.find(name); defined != custom.end())
    return definedBy(layer.node, defined->second, {x});
  mlir::Value y = applied(layer, x, name, options);
  if (!y)
    layer.unsupported(
        fmt::format("the activation '{0}' is not supported; define it with --custom {0}=FILE.mlir", name));
  return y;
}

void addActivationImporters(Importers &table) {
  table["Activation"] = {importActivation, "the activation", MaskUse::passes};
  table["ReLU"] = {importRelu, "`relu`, `leaky_relu`, `clip`, `where`", MaskUse::passes};
  table["LeakyReLU"] = {importLeakyRelu, "`leaky_relu`", MaskUse::passes};
  table["PReLU"] = {importPrelu, "`prelu`", MaskUse::passes};
  table["ELU"] = {importElu, "`elu`", MaskUse::passes};
  table["ThresholdedReLU"] = {importThresholdedRelu, "`thresholded_relu`", MaskUse::passes};
  table["Softmax"] = {importSoftmax, "`softmax`", MaskUse::passes};
  for (const char *name :
       {"Relu", "Relu6", "LeakyRelu", "Elu", "Celu", "Selu", "Softplus", "Softsign", "SoftSign", "Tanh", "Sigmoid",
        "Silu", "HardSigmoid", "HardSilu", "LogSigmoid", "Softmax", "LogSoftmax", "HardTanh", "TanhShrink"})
    table[std::string("ops.") + name] = {importFunction, "the activation"};
  table["ops.Gelu"] = {importGeluFunction, "the activation"};
  table["tf.nn.relu"] = {importFunction, "`relu`"};
  table["tf.nn.relu6"] = {importFunction, "`clip`"};
  table["tf.nn.silu"] = {importFunction, "`swish`"};
  table["tf.nn.softmax"] = {importFunction, "`softmax`"};
  table["tf.math.sigmoid"] = {importFunction, "`sigmoid`"};
  table["tf.math.tanh"] = {importFunction, "`tanh`"};
}

} // namespace lathe::keras
