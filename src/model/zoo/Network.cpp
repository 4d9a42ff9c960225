#include "zoo/Network.h"

#include "ir/SymbolicShapes.h"

#include <cmath>

namespace lathe::zoo {

namespace {

/// splitmix64 (Steele, Lea, Flood 2014): one well-mixed word per counter value.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t seedOf(uint64_t seed, const std::string &name) {
  uint64_t hash = mix(seed);
  for (unsigned char c : name)
    hash = mix(hash ^ c);
  return hash;
}

/// Mean 0, variance 1, bounded by sqrt(12): the sum of four 16-bit uniform numbers (Irwin-Hall). Exact integer
/// arithmetic up to the last multiplication gives the same bits everywhere.
double normalLike(uint64_t word) {
  int64_t sum =
      static_cast<int64_t>((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48)) - 2 * 65535;
  return static_cast<double>(sum) * (1.7320508075688772 / 65536.0);
}

} // namespace

int64_t Signal::extent(unsigned axis) const {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getDimSize(axis);
}
unsigned Signal::rank() const { return llvm::cast<mlir::RankedTensorType>(value.getType()).getRank(); }
int64_t Signal::channels() const { return extent(1); }

Network::Network(mlir::MLIRContext &context, std::string name, const ZooOptions &options)
    : b(&context), file("zoo:" + name), options(options) {
  require(options.batch >= 1, "zoo {}: batch is {}, expected at least 1", name, options.batch);
  require(options.sequence >= 0, "zoo {}: sequence is {}, expected at least 1", name, options.sequence);
  module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context), name);
  module->getOperation()->setAttr("nn.producer", b.getStringAttr("lathe zoo"));
  module->getOperation()->setAttr("nn.source", b.getStringAttr(file));
}

mlir::Location Network::at(const std::string &name, const char *op) {
  return mlir::NameLoc::get(b.getStringAttr(name + " (" + op + ")"),
                            mlir::FileLineColLoc::get(b.getStringAttr(file), nodes++, 0));
}

Signal Network::input(std::vector<int64_t> dims) {
  Dims all{batch()};
  for (int64_t extent : dims)
    all.push_back(extent);
  return {input("input", ElementType::f32, all)};
}

mlir::Value Network::input(const std::string &name, ElementType type, const Dims &dims) {
  if (!main) {
    b.setInsertionPointToEnd(module->getBody());
    main = b.create<mlir::func::FuncOp>(at("main", "function"), "main", b.getFunctionType({}, {}));
    nodes = 0;
    b.setInsertionPointToStart(main.addEntryBlock());
  }
  llvm::SmallVector<mlir::NamedAttribute> attrs{b.getNamedAttr("nn.name", b.getStringAttr(name))};
  if (!allConstant(dims))
    attrs.push_back(b.getNamedAttr("nn.dims", nn::dimsAttr(b.getContext(), dims)));
  unsigned index = main.getNumArguments();
  main.insertArgument(index, nn::toMlirType(b.getContext(), TensorInfo{type, dims, std::nullopt}),
                      b.getDictionaryAttr(attrs), main.getLoc());
  return main.getArgument(index);
}

mlir::OwningOpRef<mlir::ModuleOp> Network::finish(llvm::ArrayRef<Signal> results, llvm::ArrayRef<std::string> names) {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::Type> types;
  for (const Signal &signal : results) {
    values.push_back(signal.value);
    types.push_back(signal.value.getType());
  }
  llvm::SmallVector<std::string> allNames(names.begin(), names.end());
  for (const auto &[name, value] : others) {
    allNames.push_back(name);
    values.push_back(value);
    types.push_back(value.getType());
  }
  b.create<mlir::func::ReturnOp>(main.getLoc(), values);
  main.setFunctionType(b.getFunctionType(main.getArgumentTypes(), types));
  for (auto [i, name] : llvm::enumerate(allNames))
    main.setResultAttr(i, "nn.name", b.getStringAttr(name));
  return std::move(module);
}

mlir::Value Network::noise(const std::string &name, std::vector<int64_t> dims, double mean, double deviation) {
  int64_t count = 1;
  for (int64_t extent : dims)
    count *= extent;
  std::vector<float> values(count);
  uint64_t seed = seedOf(options.seed, name);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(mean + deviation * normalLike(mix(seed + i)));
  auto attr = nn::makeConstant(b.getContext(), ElementType::f32, dims,
                               {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)}, name);
  return b.create<nn::ConstantOp>(mlir::NameLoc::get(b.getStringAttr(name)), attr.getType(), attr);
}

Signal Network::conv(Signal x, int64_t outChannels, const ConvOptions &o, const std::string &name) {
  int64_t inChannels = x.channels() / o.group;
  double fanIn = static_cast<double>(inChannels * o.kernel[0] * o.kernel[1]);
  mlir::Value w = noise(name + ".weight", {outChannels, inChannels, o.kernel[0], o.kernel[1]}, 0,
                        1 / std::sqrt(fanIn * x.moment()));
  mlir::Value bias = o.bias ? noise(name + ".bias", {outChannels}, 0, 0.1) : mlir::Value();
  ConvAttrs attrs;
  attrs.strides = {o.stride[0], o.stride[1]};
  attrs.dilations = {1, 1};
  attrs.pads = {o.pad[0], o.pad[1], o.pad[0], o.pad[1]};
  attrs.group = o.group;
  return {nn::buildValue(b, at(name, "Conv"), "conv", {x.value, w, bias}, std::move(attrs))};
}

Signal Network::convTranspose(Signal x, int64_t outChannels, int64_t factor, const std::string &name) {
  mlir::Value w = noise(name + ".weight", {x.channels(), outChannels, factor, factor}, 0,
                        1 / std::sqrt(static_cast<double>(x.channels()) * x.moment()));
  mlir::Value bias = noise(name + ".bias", {outChannels}, 0, 0.1);
  ConvTransposeAttrs attrs;
  attrs.strides = {factor, factor};
  attrs.dilations = {1, 1};
  attrs.pads = {0, 0, 0, 0};
  attrs.output_padding = {0, 0};
  return {nn::buildValue(b, at(name, "ConvTranspose"), "conv_transpose", {x.value, w, bias}, std::move(attrs))};
}

Signal Network::batchNorm(Signal x, const std::string &name, double gain) {
  std::vector<int64_t> dims{x.channels()};
  mlir::Value scale = noise(name + ".weight", dims, gain, 0.1 * gain), bias = noise(name + ".bias", dims, 0, 0.1);
  mlir::Value mean = noise(name + ".running_mean", dims, 0, 0.1), var = noise(name + ".running_var", dims, 1, 0.1);
  BatchNormAttrs attrs;
  attrs.epsilon = 1e-5;
  return {nn::buildValue(b, at(name, "BatchNormalization"), "batch_norm", {x.value, scale, bias, mean, var},
                         std::move(attrs)),
          gain * x.mean, gain * gain * x.variance};
}

Signal Network::unit(Signal x, int64_t outChannels, ConvOptions o, Activation activation, const std::string &name,
                     double gain) {
  o.bias = false;
  return activate(batchNorm(conv(x, outChannels, o, name + ".conv"), name + ".bn", gain), activation, name + ".act");
}

Signal Network::activate(Signal x, Activation activation, const std::string &name) {
  // Assumes that x is normal: exact for relu, close enough for its bounded variants.
  double deviation = std::sqrt(x.variance), ratio = x.mean / deviation;
  double above = 0.5 * std::erfc(-ratio / std::sqrt(2.0)); // P(x > 0)
  double density = std::exp(-0.5 * ratio * ratio) / std::sqrt(2 * 3.141592653589793);
  double mean = x.mean * above + deviation * density;                // E[relu(x)]
  double moment = x.moment() * above + x.mean * deviation * density; // E[relu(x)^2]
  switch (activation) {
  case Activation::none:
    return x;
  case Activation::relu:
    return {nn::buildValue(b, at(name, "Relu"), "relu", {x.value}, ReluAttrs()), mean, moment - mean * mean};
  case Activation::relu6: {
    ClipAttrs attrs;
    attrs.min = 0;
    attrs.max = 6;
    return {nn::buildValue(b, at(name, "Clip"), "clip", {x.value}, std::move(attrs)), mean, moment - mean * mean};
  }
  case Activation::hardSwish: // for a unit normal, by numerical integration
    return {nn::buildValue(b, at(name, "HardSwish"), "hard_swish", {x.value}, HardSwishAttrs()), 0.165, 0.33};
  case Activation::hardSigmoid: {
    HardSigmoidAttrs attrs;
    attrs.alpha = 1.0 / 6;
    attrs.beta = 0.5;
    return {nn::buildValue(b, at(name, "HardSigmoid"), "hard_sigmoid", {x.value}, std::move(attrs)), 0.5, 0.028};
  }
  case Activation::sigmoid:
    return {nn::buildValue(b, at(name, "Sigmoid"), "sigmoid", {x.value}, SigmoidAttrs()), 0.5, 0.043};
  case Activation::silu: { // as exporters write it; moments for a unit normal, by numerical integration
    Signal gate = activate(x, Activation::sigmoid, name + ".sigmoid");
    return {nn::buildValue(b, at(name, "Mul"), "mul", {x.value, gate.value}, MulAttrs()), 0.207, 0.313};
  }
  case Activation::gelu: // for a unit normal, by numerical integration
    return {nn::buildValue(b, at(name, "Gelu"), "gelu", {x.value}, GeluAttrs()), 0.282, 0.345};
  }
  return x;
}

Signal Network::dense(Signal x, int64_t outFeatures, const std::string &name) {
  int64_t inFeatures = x.extent(1);
  mlir::Value w = noise(name + ".weight", {outFeatures, inFeatures}, 0, 1 / std::sqrt(inFeatures * x.moment()));
  mlir::Value bias = noise(name + ".bias", {outFeatures}, 0, 0.1);
  GemmAttrs attrs;
  attrs.trans_b = true;
  return {nn::buildValue(b, at(name, "Gemm"), "gemm", {x.value, w, bias}, std::move(attrs))};
}

Signal Network::maxPool(Signal x, std::array<int64_t, 2> kernel, std::array<int64_t, 2> stride,
                        std::array<int64_t, 2> pad, const std::string &name, bool ceilMode) {
  MaxPoolAttrs attrs;
  attrs.kernel = {kernel[0], kernel[1]};
  attrs.strides = {stride[0], stride[1]};
  attrs.dilations = {1, 1};
  attrs.pads = {pad[0], pad[1], pad[0], pad[1]};
  attrs.ceil_mode = ceilMode;
  return {nn::buildValue(b, at(name, "MaxPool"), "max_pool", {x.value}, std::move(attrs)),
          x.mean + std::sqrt(x.variance), x.variance};
}

Signal Network::averagePool(Signal x, std::array<int64_t, 2> kernel, std::array<int64_t, 2> stride,
                            std::array<int64_t, 2> pad, const std::string &name, bool countIncludePad) {
  AveragePoolAttrs attrs;
  attrs.kernel = {kernel[0], kernel[1]};
  attrs.strides = {stride[0], stride[1]};
  attrs.dilations = {1, 1};
  attrs.pads = {pad[0], pad[1], pad[0], pad[1]};
  attrs.count_include_pad = countIncludePad;
  return {nn::buildValue(b, at(name, "AveragePool"), "average_pool", {x.value}, std::move(attrs)), x.mean,
          0.3 * x.variance};
}

Signal Network::globalAveragePool(Signal x, const std::string &name) {
  ReduceMeanAttrs attrs;
  attrs.axes = {2, 3};
  attrs.keepdims = true;
  return {nn::buildValue(b, at(name, "GlobalAveragePool"), "reduce_mean", {x.value}, std::move(attrs)), x.mean,
          0.1 * x.variance};
}

Signal Network::flatten(Signal x, const std::string &name) {
  ReshapeAttrs attrs;
  attrs.shape = {0, -1};
  return {nn::buildValue(b, at(name, "Flatten"), "reshape", {x.value}, std::move(attrs)), x.mean, x.variance};
}

Signal Network::lrn(Signal x, int64_t size, double alpha, double beta, double bias, const std::string &name) {
  LrnAttrs attrs;
  attrs.size = size;
  attrs.alpha = alpha;
  attrs.beta = beta;
  attrs.bias = bias;
  return {nn::buildValue(b, at(name, "LRN"), "lrn", {x.value}, std::move(attrs)), x.mean / std::pow(bias, beta),
          x.variance / std::pow(bias, 2 * beta)};
}

Signal Network::add(Signal x, Signal y, const std::string &name) {
  return {nn::buildValue(b, at(name, "Add"), "add", {x.value, y.value}, AddAttrs()), x.mean + y.mean,
          x.variance + y.variance};
}

Signal Network::multiply(Signal x, Signal y, const std::string &name) {
  return {nn::buildValue(b, at(name, "Mul"), "mul", {x.value, y.value}, MulAttrs()), x.mean * y.mean,
          x.moment() * y.moment() - x.mean * x.mean * y.mean * y.mean};
}

Signal Network::concat(llvm::ArrayRef<Signal> parts, const std::string &name) {
  llvm::SmallVector<mlir::Value> values;
  double mean = 0, moment = 0, channels = 0;
  for (const Signal &part : parts) {
    values.push_back(part.value);
    mean += part.mean * part.channels();
    moment += part.moment() * part.channels();
    channels += part.channels();
  }
  ConcatAttrs attrs;
  attrs.axis = 1;
  mean /= channels;
  return {nn::buildValue(b, at(name, "Concat"), "concat", values, std::move(attrs)), mean,
          moment / channels - mean * mean};
}

std::vector<Signal> Network::split(Signal x, std::vector<int64_t> sizes, const std::string &name, int64_t axis) {
  SplitAttrs attrs;
  attrs.axis = axis;
  attrs.sizes = std::move(sizes);
  std::vector<Signal> parts;
  for (mlir::Value part : nn::build(b, at(name, "Split"), "split", {x.value}, attrs)->getResults())
    parts.push_back({part, x.mean, x.variance});
  return parts;
}

Signal Network::channelShuffle(Signal x, int64_t groups, const std::string &name) {
  int64_t channels = x.channels(), height = x.extent(2), width = x.extent(3);
  Signal y = reshape(x, {0, groups, channels / groups, height, width}, name + ".group");
  y = transpose(y, {0, 2, 1, 3, 4}, name + ".interleave");
  return reshape(y, {0, channels, height, width}, name + ".ungroup");
}

Signal Network::reshape(Signal x, std::vector<int64_t> shape, const std::string &name) {
  ReshapeAttrs attrs;
  attrs.shape = std::move(shape);
  return {nn::buildValue(b, at(name, "Reshape"), "reshape", {x.value}, std::move(attrs)), x.mean, x.variance};
}

Signal Network::transpose(Signal x, std::vector<int64_t> perm, const std::string &name) {
  TransposeAttrs attrs;
  attrs.perm = std::move(perm);
  return {nn::buildValue(b, at(name, "Transpose"), "transpose", {x.value}, std::move(attrs)), x.mean, x.variance};
}

Signal Network::softmax(Signal x, int64_t axis, const std::string &name) {
  SoftmaxAttrs attrs;
  attrs.axis = axis;
  return {nn::buildValue(b, at(name, "Softmax"), "softmax", {x.value}, std::move(attrs))};
}

Signal Network::linear(Signal x, int64_t outFeatures, const std::string &name, double gain) {
  int64_t inFeatures = llvm::cast<mlir::RankedTensorType>(x.value.getType()).getShape().back();
  mlir::Value w = noise(name + ".weight", {inFeatures, outFeatures}, 0, gain / std::sqrt(inFeatures * x.moment()));
  mlir::Value product = apply("matmul", "MatMul", {x.value, w}, MatMulAttrs(), name + ".matmul");
  return {
      apply("add", "Add", {product, noise(name + ".bias", {outFeatures}, 0, 0.1 * gain)}, AddAttrs(), name + ".add"), 0,
      gain * gain};
}

Signal Network::lstm(Signal x, int64_t hidden, const std::string &name) {
  int64_t inFeatures = x.extent(2);
  // The sum of every gate has a variance near one: neither saturated nor linear.
  mlir::Value w = noise(name + ".weight_ih", {1, 4 * hidden, inFeatures}, 0, 1 / std::sqrt(inFeatures * x.moment()));
  mlir::Value r = noise(name + ".weight_hh", {1, 4 * hidden, hidden}, 0, 1 / std::sqrt(hidden));
  mlir::Value bias = noise(name + ".bias", {1, 8 * hidden}, 0, 0.1);
  return {apply("lstm", "LSTM", {x.value, w, r, bias}, LstmAttrs(), name), 0, 0.15};
}

mlir::Value Network::apply(const char *mnemonic, const char *onnxOp, llvm::ArrayRef<mlir::Value> operands,
                           Attrs &&attrs, const std::string &name) {
  return nn::buildValue(b, at(name, onnxOp), mnemonic, operands, std::move(attrs));
}

mlir::Value Network::scalar(double value, const std::string &name) {
  auto element = static_cast<float>(value);
  auto attr = nn::makeConstant(b.getContext(), ElementType::f32, {},
                               {reinterpret_cast<const char *>(&element), sizeof element}, name);
  return b.create<nn::ConstantOp>(mlir::NameLoc::get(b.getStringAttr(name)), attr.getType(), attr);
}

mlir::Value Network::integers(std::vector<int64_t> dims, const std::vector<int64_t> &values, const std::string &name) {
  auto attr = nn::makeConstant(b.getContext(), ElementType::i64, dims,
                               {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int64_t)}, name);
  return b.create<nn::ConstantOp>(mlir::NameLoc::get(b.getStringAttr(name)), attr.getType(), attr);
}

} // namespace lathe::zoo
