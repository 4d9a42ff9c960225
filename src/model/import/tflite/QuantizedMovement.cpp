// Quantised operators that move elements and also change them: concatenation on one scale, padding with zeros, bilinear
// resizing.
#include "import/tflite/QuantizedParts.h"

#include <cmath>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

/// Rescales an operand to the result's scale; the factor is a float.
mlir::Value onResultScale(Operator &op, size_t index, const Uniform &to) {
  Uniform x = uniformInput(op, index);
  if (x == to)
    return op.in(index);
  require(x.type == to.type, "input {} is {}, expected {}", index, name(x.type), name(to.type));
  if (x.type == ElementType::i16)
    op.unsupported("CONCATENATION of quantised i16 on different scales");
  float factor = x.scale * (1.0F / to.scale), offset = static_cast<float>(-x.zero) * factor;
  require(std::abs(factor) < 1e9F, "input {} has scale {}, the result {}, expected a ratio below 10^9", index, x.scale,
          to.scale);
  Limits all = limitsOf(to.type);
  return looked(op, op.in(index), x.type, to.type, [&](int64_t q) {
    return all.clamp(std::llround(std::round(static_cast<float>(q) * factor + offset)) + to.zero);
  });
}

void importConcatenation(Operator &op) {
  const auto &options = op.options<file::ConcatenationOptions>(BuiltinOptions::Concatenation);
  Uniform to = uniformOutput(op);
  Values parts;
  for (size_t i = 0; i < op.node.inputCount(); ++i)
    parts.push_back(onResultScale(op, i, to));
  mlir::Value whole = op.emit("concat", parts, {{"axis", int64_t(options.axis())}});
  op.set(clamped(op, whole, to.type, limitsOf(op, to, options.activation())));
}

/// Added elements stand for zero, or for the value of PADV2.
void importPad(Operator &op) {
  Uniform to = uniformOutput(op);
  require(uniformInput(op, 0) == to, "the operand and the result have different scales or zero points");
  double value = static_cast<double>(to.zero);
  if (op.node.has(2)) {
    auto given = op.node.staticInts(op.in(2));
    if (!given || given->size() != 1)
      op.unsupported("padding with a value that is computed");
    value = static_cast<double>(given->at(0));
  }
  std::vector<int64_t> pairs = op.node.requireInts(1, "paddings"), pads(pairs.size());
  require(static_cast<int64_t>(pairs.size()) == 2 * op.node.rank(op.in(0)), "paddings has {} values, expected {}",
          pairs.size(), 2 * op.node.rank(op.in(0)));
  for (size_t i = 0; i < pairs.size(); ++i) // from pairs of begin and end to all begins, then all ends
    pads[i / 2 + i % 2 * (pairs.size() / 2)] = pairs[i];
  op.set(op.emit("pad", {op.in(0), {}, {}}, {{"pads", pads}, {"value", value}}));
}

// ---- RESIZE_BILINEAR ----------------------------------------------------------------------------------------------

constexpr int64_t mostRows = 1 << 16; // rows of the result, each of which has taps

/// The two elements of x on both sides of an element of y along one axis, and the weight of the second element.
struct Taps {
  std::vector<int64_t> low, high;
  std::vector<float> reals;    // weights of uint8
  std::vector<int64_t> tenths; // weights of int8 and int16 in steps of 2^-10
};

Taps tapsOf(int64_t in, int64_t out, const file::ResizeBilinearOptions &options) {
  Taps taps;
  bool corners = options.align_corners() && out > 1, centres = options.half_pixel_centers();
  float scale = corners ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                        : static_cast<float>(in) / static_cast<float>(out);
  int64_t fixed = corners ? ((in - 1) * 1024 + (out - 1) / 2) / (out - 1) : (in * 1024 + out / 2) / out;
  for (int64_t i = 0; i < out; ++i) {
    auto at = static_cast<float>(i);
    float position = centres ? (at + 0.5F) * scale - 0.5F : at * scale;
    int64_t place = centres ? i * fixed + fixed / 2 - 512 : i * fixed;
    taps.low.push_back(std::max<int64_t>(static_cast<int64_t>(std::floor(position)), 0));
    taps.high.push_back(std::min<int64_t>(static_cast<int64_t>(std::ceil(position)), in - 1));
    taps.reals.push_back(position - static_cast<float>(taps.low.back()));
    taps.tenths.push_back(place);
  }
  return taps;
}

/// The integer kernel computes the neighbours from the position in steps of 2^-10.
void takeFixedPlaces(Taps &taps, int64_t in) {
  for (size_t i = 0; i < taps.tenths.size(); ++i) {
    int64_t place = taps.tenths[i];
    taps.low[i] = std::max<int64_t>(place / 1024, 0);
    taps.high[i] = std::min<int64_t>((place + 1023) / 1024, in - 1);
    taps.tenths[i] = place - 1024 * taps.low[i];
  }
}

/// Channels are the second axis here: rows of the result are combined from whole rows.
class Bilinear {
public:
  Bilinear(Operator &op, const Taps &rows, const Taps &columns)
      : op(op), x(channelsFirst(op.node, op.in(0))), rows(rows), columns(columns) {}

  /// Sums of integers (64 bits for operands of 16 bits), along one axis after the other, rounded away from zero.
  mlir::Value integers() {
    wide = op.inputType(0) == ElementType::i16 ? ElementType::i64 : ElementType::i32;
    mlir::Value sum = op.node.cast(x, wide);
    sum = blended(blended(sum, columns, 3), rows, 2);
    mlir::Value half = number(1 << 19), positive = op.emit("greater", {sum, number(0)});
    mlir::Value up = op.emit("where", {positive, op.emit("add", {sum, half}), op.emit("sub", {sum, half})});
    return finished(op.emit("div", {up, number(1 << 20)}));
  }

  /// Sums of four products of floats, in the order of the reference kernel.
  mlir::Value reals() {
    mlir::Value left = taken(x, columns.low, 3), right = taken(x, columns.high, 3), sum;
    auto add = [&](mlir::Value from, bool isRight, const std::vector<int64_t> &at, bool isLower) {
      mlir::Value part = op.node.cast(taken(from, at, 2), ElementType::f32);
      part = op.emit("mul", {part, weights(rows, 2, isLower)});
      part = op.emit("mul", {part, weights(columns, 3, isRight)});
      sum = sum ? op.emit("add", {sum, part}) : part;
    };
    add(left, false, rows.low, false);
    add(left, false, rows.high, true);
    add(right, true, rows.low, false);
    add(right, true, rows.high, true);
    return finished(op.emit("add", {sum, op.node.constantScalar(ElementType::f32, 0.5)}));
  }

private:
  Operator &op;
  mlir::Value x;
  const Taps &rows, &columns;
  ElementType wide = ElementType::i32; // type of sums of integers

  mlir::Value number(int64_t value) { return op.node.constantScalar(wide, static_cast<double>(value)); }
  mlir::Value finished(mlir::Value y) { return channelsLast(op.node, op.node.cast(y, op.inputType(0))); }
  mlir::Value taken(mlir::Value from, const std::vector<int64_t> &at, int64_t axis) {
    return op.emit("gather", {from, op.node.constantInts({static_cast<int64_t>(at.size())}, at)}, {{"axis", axis}});
  }

  /// Weights of the first taps along an axis, or of the second.
  mlir::Value weights(const Taps &taps, size_t axis, bool second) {
    std::vector<float> values;
    for (float weight : taps.reals)
      values.push_back(second ? weight : 1 - weight);
    TensorData data;
    data.type = ElementType::f32;
    data.dims.assign(4 - axis, 1);
    data.dims[0] = static_cast<int64_t>(values.size());
    const char *bytes = reinterpret_cast<const char *>(values.data());
    data.bytes.assign(bytes, bytes + values.size() * sizeof(float));
    return op.node.constant(data);
  }

  mlir::Value blended(mlir::Value from, const Taps &taps, int64_t axis) {
    std::vector<int32_t> first, second;
    for (int64_t weight : taps.tenths) {
      first.push_back(static_cast<int32_t>(1024 - weight));
      second.push_back(static_cast<int32_t>(weight));
    }
    auto part = [&](const std::vector<int64_t> &at, const std::vector<int32_t> &factors) {
      mlir::Value weights = op.node.cast(constantVector(op, factors, 3 - axis), wide);
      return op.emit("mul", {taken(from, at, axis), weights});
    };
    return op.emit("add", {part(taps.low, first), part(taps.high, second)});
  }
};

void importResizeBilinear(Operator &op) {
  const auto &options = op.options<file::ResizeBilinearOptions>(BuiltinOptions::ResizeBilinear);
  Uniform x = uniformInput(op, 0);
  require(x == uniformOutput(op), "the operand and the result have different scales or zero points");
  bool integers = x.type != ElementType::u8;
  const Dims &dims = op.dims(op.in(0));
  std::vector<int64_t> size = op.node.requireInts(1, "size");
  require(dims.size() == 4 && size.size() == 2, "the operand has rank {}, size {} values, expected 4 and 2",
          dims.size(), size.size());
  if (!dims[1].isConstant() || !dims[2].isConstant())
    op.unsupported("RESIZE_BILINEAR of unknown extents");
  int64_t height = dims[1].constant(), width = dims[2].constant();
  require(height > 0 && width > 0 && size[0] > 0 && size[1] > 0, "resizes {}x{} to {}x{}", height, width, size[0],
          size[1]);
  require(std::max(size[0], size[1]) <= mostRows, "resizes to {}x{}, expected at most {} rows and columns", size[0],
          size[1], mostRows);
  if (height == size[0] && width == size[1])
    return op.set(op.in(0)); // every element has weight 1
  Taps rows = tapsOf(height, size[0], options), columns = tapsOf(width, size[1], options);
  if (integers) {
    takeFixedPlaces(rows, height);
    takeFixedPlaces(columns, width);
  }
  Bilinear bilinear(op, rows, columns);
  op.set(integers ? bilinear.integers() : bilinear.reals());
}

} // namespace

void addQuantizedMovement(Importers &table) {
  table[CONCATENATION] = {importConcatenation};
  table[PAD] = {importPad};
  table[PADV2] = {importPad};
  table[RESIZE_BILINEAR] = {importResizeBilinear};
}

} // namespace lathe::tflite
