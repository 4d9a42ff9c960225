#include "quantize/WeightOnly.h"

#include "ir/PackedWeights.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::quantize {
namespace {

constexpr float leastScale = 1e-30F; // kernels flush denormals to zero

/// Nearest integer, ties to even, of numbers below 2^22. Compilers vectorise it.
float rounded(float x) {
  constexpr float shift = 0x1.8p23F;
  return (x + shift) - shift;
}

/// The least and the largest code.
std::pair<float, float> limitsOf(const WeightFormat &format) {
  auto half = static_cast<float>(1 << (bitWidth(format.type) - 1));
  if (format.zeroPoints)
    return {0.0F, 2 * half - 1};
  return {bitWidth(format.type) == 4 ? -half : 1 - half, half - 1}; // 8 bits: one magnitude on both sides
}

/// Sums over a block for the codes of a scale.
struct Fit {
  float products = 0, squares = 0, error = 0;
};
Fit fit(std::span<const float> weights, float scale, float zero, std::pair<float, float> limits) {
  Fit result;
  const float inverse = 1 / scale, low = limits.first - zero, high = limits.second - zero;
  for (float weight : weights) {
    float code = std::min(std::max(rounded(weight * inverse), low), high), missing = weight - code * scale;
    result.products += weight * code;
    result.squares += code * code;
    result.error += missing * missing;
  }
  return result;
}

/// A tensor of codes, zeros at first.
class Codes {
public:
  Codes(ElementType type, std::vector<int64_t> dims) : tensor(type, std::move(dims)) {
    std::fill_n(static_cast<char *>(tensor.data()), tensor.bytes(), '\0');
  }
  void set(int64_t index, int code) {
    auto *bytes = static_cast<uint8_t *>(tensor.data());
    if (bitWidth(tensor.type()) == 8)
      bytes[index] = static_cast<uint8_t>(code);
    else
      bytes[index / 2] |= static_cast<uint8_t>((code & 15) << (index % 2 * 4));
  }
  Tensor tensor;
};

/// The cosine between weights and dequantised weights.
class Cosine {
public:
  void add(float weight, double coded) {
    product += weight * coded;
    ofWeights += double(weight) * weight;
    ofCodes += coded * coded;
  }
  double value() const {
    return ofWeights == 0 || ofCodes == 0 ? double(ofWeights == ofCodes) : product / std::sqrt(ofWeights * ofCodes);
  }

private:
  double product = 0, ofWeights = 0, ofCodes = 0;
};

int64_t blockOf(int64_t steps, int64_t wanted) {
  constexpr int64_t least = 8; // for shorter blocks, scales take more bytes than codes save
  for (int64_t block = std::min(wanted, steps); block >= least; --block)
    if (steps % block == 0)
      return block;
  return steps;
}

/// A matrix product that is being rewritten.
class PackedProduct {
public:
  PackedProduct(const Layer &layer, const WeightFormat &format)
      : layer(layer), op(layer.op), format(format), b(op), loc(op->getLoc()) {}

  double run() {
    Tensor weights = *constantOf(op->getOperand(1));
    const bool turned = layer.weightAxis == 0; // N x K
    const int64_t n = weights.dim(turned ? 0 : 1), k = weights.dim(turned ? 1 : 0), steps = blockOf(k, format.block),
                  blocks = k / steps;
    ElementType type =
        format.zeroPoints ? (bitWidth(format.type) == 4 ? ElementType::u4 : ElementType::u8) : format.type;
    Codes codes(type, blocks == 1 ? std::vector<int64_t>{k, n} : std::vector<int64_t>{blocks, steps, n});
    std::vector<float> scales(static_cast<size_t>(blocks * n)), zeros(scales.size()),
        column(static_cast<size_t>(steps));
    Cosine cosine;
    const float *values = weights.as<float>();
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < steps; ++i) {
          int64_t step = block * steps + i;
          column[static_cast<size_t>(i)] = values[turned ? j * k + step : step * n + j];
        }
        PackedBlock packed = packBlock(column, format);
        auto at = static_cast<size_t>(block * n + j);
        scales[at] = packed.scale;
        zeros[at] = static_cast<float>(packed.zero);
        for (int64_t i = 0; i < steps; ++i) {
          int code = packed.codes[static_cast<size_t>(i)];
          codes.set((block * steps + i) * n + j, code);
          cosine.add(column[static_cast<size_t>(i)], double(code - packed.zero) * packed.scale);
        }
      }
    std::vector<int64_t> each = blocks == 1 ? std::vector<int64_t>{n} : std::vector<int64_t>{blocks, 1, n};
    mlir::Value zero = format.zeroPoints ? constant(Tensor::of<float>(each, zeros), ".w_zero_point") : mlir::Value();
    replace(nn::buildPackedWeights(b, loc, constant(codes.tensor, ".w_quantized"),
                                   constant(Tensor::of<float>(each, scales), ".w_scale"), zero));
    return cosine.value();
  }

private:
  const Layer &layer;
  mlir::Operation *op;
  const WeightFormat &format;
  mlir::OpBuilder b;
  mlir::Location loc;

  mlir::Value constant(const Tensor &tensor, const char *suffix) {
    return makeConstant(b, loc, tensor, constantName(op, suffix));
  }

  /// Replaces any product by a matmul, followed by the bias.
  void replace(mlir::Value weights) {
    mlir::Value result = nn::buildValue(b, loc, "matmul", {op->getOperand(0), weights}, MatMulAttrs());
    if (mlir::Value bias = operandOf(op, 2)) {
      std::vector<double> numbers = toDoubles(*constantOf(bias));
      auto count = static_cast<int64_t>(numbers.size());
      result = nn::buildValue(
          b, loc, "add", {result, makeConstant(b, loc, ElementType::f32, {count}, numbers, constantName(op, ".bias"))},
          AddAttrs());
    }
    result.setType(op->getResult(0).getType());
    replaceWith(op, result);
  }
};

/// True for a gather of rows of a constant matrix of floats that is large enough to matter.
bool isTable(mlir::Operation &op) {
  constexpr int64_t least = 1 << 16;
  if (!isOp(&op, "gather") || nn::attrsAs<GatherAttrs>(&op).axis != 0 ||
      !op.getOperand(0).getDefiningOp<nn::ConstantOp>())
    return false;
  auto type = rankedType(op.getOperand(0));
  return type && type.getRank() == 2 && type.getElementType().isF32() && type.getNumElements() >= least;
}

/// Rewrites gather(table, rows) as cast(gather(codes, rows)) * gather(scales, rows).
double packTable(mlir::Operation *op) {
  Tensor table = *constantOf(op->getOperand(0));
  const int64_t rows = table.dim(0), width = table.dim(1);
  Codes codes(ElementType::i8, {rows, width});
  std::vector<float> scales;
  Cosine cosine;
  for (int64_t row = 0; row < rows; ++row) {
    std::span<const float> values(table.as<float>() + row * width, static_cast<size_t>(width));
    PackedBlock packed = packBlock(values, {ElementType::i8});
    scales.push_back(packed.scale);
    for (int64_t i = 0; i < width; ++i) {
      int code = packed.codes[static_cast<size_t>(i)];
      codes.set(row * width + i, code);
      cosine.add(values[static_cast<size_t>(i)], double(code) * packed.scale);
    }
  }
  mlir::OpBuilder b(op);
  mlir::Location loc = op->getLoc();
  auto gathered = [&](const Tensor &from, const char *suffix) {
    return nn::buildValue(b, loc, "gather", {makeConstant(b, loc, from, constantName(op, suffix)), op->getOperand(1)},
                          nn::attrsAs<GatherAttrs>(op));
  };
  CastAttrs cast;
  cast.to = ElementType::f32;
  mlir::Value result = nn::buildValue(b, loc, "cast", {gathered(codes.tensor, ".quantized")}, std::move(cast));
  result =
      nn::buildValue(b, loc, "mul", {result, gathered(Tensor::of<float>({rows, 1}, scales), ".scale")}, MulAttrs());
  result.setType(op->getResult(0).getType());
  replaceWith(op, result);
  return cosine.value();
}

} // namespace

PackedBlock packBlock(std::span<const float> weights, const WeightFormat &format) {
  constexpr int clippings = 6, rounds = 3;
  constexpr float clipped = 0.07F; // of the range, from one start to the next
  auto limits = limitsOf(format);
  auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  float low = std::min(*least, 0.0F), high = std::max(*most, 0.0F);
  float widest =
      format.zeroPoints ? (high - low) / (limits.second - limits.first) : std::max(high, -low) / limits.second;
  PackedBlock best;
  float error = std::numeric_limits<float>::infinity();
  for (int clipping = 0; clipping < clippings && widest > leastScale; ++clipping) {
    float scale = widest / (1 + clipped * static_cast<float>(clipping));
    float zero = format.zeroPoints ? std::min(std::max(rounded(-low / scale), limits.first), limits.second) : 0;
    for (int round = 0; round < rounds && scale > leastScale; ++round) {
      Fit found = fit(weights, scale, zero, limits);
      if (found.error < error) {
        error = found.error;
        best.scale = scale;
        best.zero = static_cast<int>(zero);
      }
      scale = found.squares > 0 ? found.products / found.squares : 0;
    }
  }
  for (float weight : weights) {
    auto zero = static_cast<float>(best.zero);
    best.codes.push_back(
        static_cast<int>(std::min(std::max(rounded(weight / best.scale) + zero, limits.first), limits.second)));
  }
  return best;
}

std::vector<PackedLayer> packWeights(mlir::func::FuncOp main, const WeightFormat &format,
                                     const std::set<std::string> &excluded) {
  std::vector<Layer> layers;
  std::vector<mlir::Operation *> tables;
  for (mlir::Operation &op : main.getBody().front()) {
    if (std::optional<Layer> layer = layerAt(&op); layer && !isOp(&op, "conv") && !excluded.contains(layer->node))
      layers.push_back(*layer);
    if (isTable(op) && llvm::none_of(nn::nodeNames(op.getLoc()), [&](auto &node) { return excluded.contains(node); }))
      tables.push_back(&op);
  }
  std::vector<PackedLayer> packed;
  for (mlir::Operation *table : tables) {
    std::vector<std::string> nodes = nn::nodeNames(table->getLoc());
    packed.push_back({nodes.empty() ? "gather" : nodes.front(), "gather", packTable(table)});
  }
  for (const Layer &layer : layers)
    packed.push_back({layer.node, layer.op->getName().stripDialect().str(), 0});
  for (size_t i = 0; i < layers.size(); ++i)
    packed[tables.size() + i].cosine = PackedProduct(layers[i], format).run();
  return packed;
}

} // namespace lathe::quantize
