#include "tests/passes/RandomGraph.h"

#include "ir/SymbolicShapes.h"
#include "passes/Rewrite.h"
#include "passes/interpret/Evaluate.h"

#include <cmath>
#include <random>

namespace lathe {
namespace {

class Generator {
public:
  Generator(mlir::MLIRContext &context, uint64_t seed)
      : random(seed), module(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context))), b(module->getBodyRegion()) {}

  mlir::OwningOpRef<mlir::ModuleOp> run(int operators) {
    bool symbolic = chance(0.5);
    int64_t channels = pick({3, 4, 8, 12, 16}), size = 4 + below(8);
    auto input = mlir::RankedTensorType::get(
        {symbolic ? mlir::ShapedType::kDynamic : pick({1, 1, 2}), channels, size, size}, b.getF32Type());
    b.setInsertionPointToEnd(module->getBody());
    function = b.create<mlir::func::FuncOp>(b.getUnknownLoc(), "main", b.getFunctionType({input}, {}));
    if (symbolic)
      function.setArgAttr(0, "nn.dims", nn::dimsAttr(b.getContext(), {Dim::symbol("N"), channels, size, size}));
    b.setInsertionPointToStart(function.addEntryBlock());
    values.push_back(function.getArgument(0));
    for (int i = 0; i < operators; ++i) {
      loc = mlir::NameLoc::get(b.getStringAttr(fmt::format("node{} (Random)", i)));
      values.push_back(next());
    }
    llvm::SmallVector<mlir::Value> results{values.back()};
    if (chance(0.5)) // an inner value as well
      results.push_back(values[below(values.size())]);
    if (chance(0.5))
      results[0] = head(results[0]);
    b.create<mlir::func::ReturnOp>(b.getUnknownLoc(), results);
    function.setType(b.getFunctionType({input}, mlir::ValueRange(results).getTypes()));
    return std::move(module);
  }

private:
  std::mt19937_64 random;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder b;
  mlir::func::FuncOp function;
  mlir::Location loc = mlir::UnknownLoc::get(b.getContext());
  std::vector<mlir::Value> values; // of rank 4

  int64_t below(int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); }
  bool chance(double probability) { return std::uniform_real_distribution<double>()(random) < probability; }
  int64_t pick(std::initializer_list<int64_t> list) {
    return *(list.begin() + below(static_cast<int64_t>(list.size())));
  }

  mlir::Value weights(std::vector<int64_t> dims, double low, double high) {
    std::uniform_real_distribution<double> uniform(low, high);
    int64_t count = 1;
    for (int64_t extent : dims)
      count *= extent;
    std::vector<double> data(count);
    for (double &value : data)
      value = uniform(random);
    return makeConstant(b, loc, ElementType::f32, std::move(dims), data, fmt::format("w{}", random()));
  }

  /// Weights of sums of `terms` products: results are as large as the operands, or a softmax at the end would tell
  /// roundings apart.
  mlir::Value sumWeights(std::vector<int64_t> dims, int64_t terms) {
    double bound = std::sqrt(3.0 / static_cast<double>(terms));
    return weights(std::move(dims), -bound, bound);
  }

  static int64_t channels(mlir::Value x) { return rankedType(x).getDimSize(1); }
  static int64_t height(mlir::Value x) { return rankedType(x).getDimSize(2); }
  static int64_t width(mlir::Value x) { return rankedType(x).getDimSize(3); }

  /// The last value mostly, an earlier one sometimes: chains with branches.
  mlir::Value some() { return chance(0.75) ? values.back() : values[below(static_cast<int64_t>(values.size()))]; }

  mlir::Value conv(mlir::Value x) {
    ConvAttrs attrs;
    attrs.strides = {1, 1};
    attrs.dilations = {1, 1};
    int64_t kernel = std::min({pick({1, 1, 3, 2}), height(x), width(x)});
    int64_t pad = kernel == 3 ? below(2) : 0;
    attrs.pads = {pad, pad, pad, pad};
    bool depthwise = chance(0.2);
    int64_t out = depthwise ? channels(x) : pick({4, 8, 16, 16, 32, 5, 24});
    attrs.group = depthwise ? channels(x) : 1;
    int64_t in = channels(x) / attrs.group;
    mlir::Value w = sumWeights({out, in, kernel, kernel}, in * kernel * kernel);
    return nn::buildValue(b, loc, "conv", {x, w, chance(0.5) ? weights({out}, -1, 1) : mlir::Value()},
                          std::move(attrs));
  }

  mlir::Value batchNorm(mlir::Value x) {
    int64_t c = channels(x);
    return nn::buildValue(b, loc, "batch_norm",
                          {x, weights({c}, 0.5, 2), weights({c}, -1, 1), weights({c}, -1, 1), weights({c}, 0.1, 2)},
                          BatchNormAttrs());
  }

  mlir::Value activation(mlir::Value x) {
    switch (below(5)) {
    case 0:
      return nn::buildValue(b, loc, "sigmoid", {x}, SigmoidAttrs());
    case 1: {
      ClipAttrs clip;
      clip.min = 0;
      clip.max = 6;
      return nn::buildValue(b, loc, "clip", {x, {}, {}}, std::move(clip));
    }
    case 2: // hard-swish of two operators
      return nn::buildValue(b, loc, "mul", {x, nn::buildValue(b, loc, "hard_sigmoid", {x}, HardSigmoidAttrs())},
                            MulAttrs());
    default:
      return nn::buildValue(b, loc, "relu", {x}, ReluAttrs());
    }
  }

  mlir::Value pool(mlir::Value x) {
    if (height(x) < 3 || width(x) < 3)
      return activation(x);
    auto fill = [&](auto attrs) {
      attrs.kernel = {3, 2};
      attrs.strides = {pick({1, 2}), 1};
      attrs.dilations = {1, 1};
      attrs.pads = {below(2), 0, below(2), below(2)};
      return attrs;
    };
    if (chance(0.5))
      return nn::buildValue(b, loc, "max_pool", {x}, fill(MaxPoolAttrs()));
    return nn::buildValue(b, loc, "average_pool", {x}, fill(AveragePoolAttrs()));
  }

  mlir::Value pad(mlir::Value x) {
    PadAttrs attrs;
    attrs.pads = {0, 0, below(2), 1, 0, 0, 1, below(2)};
    return nn::buildValue(b, loc, "pad", {x, {}, {}}, std::move(attrs));
  }

  /// Two values of one shape, or one with itself.
  mlir::Value binary(mlir::Value x) {
    std::vector<mlir::Value> same;
    for (mlir::Value value : values)
      if (value.getType() == x.getType())
        same.push_back(value);
    mlir::Value other = same[below(static_cast<int64_t>(same.size()))];
    return chance(0.7) ? nn::buildValue(b, loc, "add", {other, x}, AddAttrs())
                       : nn::buildValue(b, loc, "sub", {x, other}, SubAttrs());
  }

  mlir::Value scale(mlir::Value x) {
    mlir::Value s = chance(0.8) ? weights({channels(x), 1, 1}, 0.5, 2) : weights({height(x), width(x)}, 0.5, 2);
    switch (below(3)) {
    case 0:
      return nn::buildValue(b, loc, "add", {s, x}, AddAttrs());
    case 1:
      return nn::buildValue(b, loc, "div", {x, s}, DivAttrs());
    default:
      return nn::buildValue(b, loc, "mul", {x, s}, MulAttrs());
    }
  }

  /// Squeeze and excitation.
  mlir::Value gate(mlir::Value x) {
    ReduceMeanAttrs mean;
    mean.axes = {2, 3};
    mlir::Value squeezed = nn::buildValue(b, loc, "reduce_mean", {x, {}}, std::move(mean));
    ConvAttrs attrs;
    attrs.strides = attrs.dilations = {1, 1};
    attrs.pads = {0, 0, 0, 0};
    mlir::Value c = nn::buildValue(
        b, loc, "conv", {squeezed, sumWeights({channels(x), channels(x), 1, 1}, channels(x)), {}}, std::move(attrs));
    return nn::buildValue(b, loc, "mul", {x, nn::buildValue(b, loc, "sigmoid", {c}, SigmoidAttrs())}, MulAttrs());
  }

  mlir::Value concat(mlir::Value x) {
    std::vector<mlir::Value> fitting;
    for (mlir::Value value : values)
      if (height(value) == height(x) && width(value) == width(x))
        fitting.push_back(value);
    ConcatAttrs attrs;
    attrs.axis = 1;
    llvm::SmallVector<mlir::Value> parts{x, fitting[below(static_cast<int64_t>(fitting.size()))]};
    if (mlir::Operation *earlier = parts[1].getDefiningOp(); isOp(earlier, "concat") && chance(0.7)) {
      parts.assign(earlier->operand_begin(), earlier->operand_end()); // as DenseNet writes them
      parts.push_back(x);
    } else if (chance(0.3)) {
      parts.push_back(fitting[below(static_cast<int64_t>(fitting.size()))]);
    }
    return nn::buildValue(b, loc, "concat", parts, std::move(attrs));
  }

  mlir::Value split(mlir::Value x) {
    if (channels(x) < 2)
      return activation(x);
    SplitAttrs attrs;
    attrs.axis = 1;
    int64_t first = channels(x) % 16 == 0 ? channels(x) / 2 : 1 + below(channels(x) - 1);
    attrs.sizes = {first, channels(x) - first};
    mlir::Operation *op = nn::build(b, loc, "split", {x}, attrs);
    values.push_back(op->getResult(0));
    return op->getResult(1);
  }

  mlir::Value shuffle(mlir::Value x) {
    if (channels(x) % 2)
      return activation(x);
    ReshapeAttrs apart, back;
    apart.shape = {0, 2, channels(x) / 2, height(x), width(x)};
    back.shape = {0, channels(x), height(x), width(x)};
    TransposeAttrs transpose;
    transpose.perm = {0, 2, 1, 3, 4};
    mlir::Value a = nn::buildValue(b, loc, "reshape", {x, {}}, std::move(apart));
    mlir::Value t = nn::buildValue(b, loc, "transpose", {a}, std::move(transpose));
    return nn::buildValue(b, loc, "reshape", {t, {}}, std::move(back));
  }

  mlir::Value next() {
    mlir::Value x = some();
    if (channels(x) > 64)
      return conv(x);
    switch (below(14)) {
    case 0:
    case 1:
    case 2:
      return conv(x);
    case 3:
    case 4:
      return batchNorm(x);
    case 5:
      return pool(x);
    case 6:
      return pad(x);
    case 7:
      return binary(x);
    case 8:
      return scale(x);
    case 9:
      return gate(x);
    case 10:
      return concat(x);
    case 11:
      return split(x);
    case 12:
      return shuffle(x);
    default:
      return activation(x);
    }
  }

  /// A classifier.
  mlir::Value head(mlir::Value x) {
    if (chance(0.5)) {
      ReduceMeanAttrs mean;
      mean.axes = {2, 3};
      mean.keepdims = chance(0.5);
      x = nn::buildValue(b, loc, "reduce_mean", {x, {}}, std::move(mean));
    }
    int64_t features = 1;
    for (int64_t extent : rankedType(x).getShape().drop_front())
      features *= extent;
    ReshapeAttrs reshape;
    reshape.shape = {0, features};
    x = nn::buildValue(b, loc, "reshape", {x, {}}, std::move(reshape));
    GemmAttrs gemm;
    x = nn::buildValue(b, loc, "gemm", {x, sumWeights({features, 5}, features), weights({5}, -1, 1)}, std::move(gemm));
    if (chance(0.5))
      x = batchNorm(x);
    SoftmaxAttrs softmax;
    return nn::buildValue(b, loc, "softmax", {x}, std::move(softmax));
  }
};

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> randomGraph(mlir::MLIRContext &context, uint64_t seed, int operators) {
  return Generator(context, seed).run(operators);
}

} // namespace lathe
