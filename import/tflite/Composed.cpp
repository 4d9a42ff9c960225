// Operators that are a few others.
#include "import/tflite/Tflite.h"

#include <numbers>
#include <numeric>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using Ints = std::vector<int64_t>;

/// Rounds to the steps of a quantisation of `bits` bits, in floats. The ends move so that zero is a step.
void importFakeQuant(Operator &op) {
  op.node.expectInputs(1, 1);
  const auto &options = op.options<file::FakeQuantOptions>(BuiltinOptions::FakeQuant);
  require(options.bits() >= 2 && options.bits() <= 16, "has {} bits, expected 2 to 16", options.bits());
  require(options.min() <= 0 && options.max() >= 0 && options.min() < options.max(),
          "has the range {} to {}, expected one around 0", options.min(), options.max());
  float first = options.narrow_range() ? 1 : 0, last = static_cast<float>((1 << options.bits()) - 1);
  float scale = (options.max() - options.min()) / (last - first);
  float zero = std::clamp(std::round(first - options.min() / scale), first, last);
  float low = (first - zero) * scale, high = (last - zero) * scale;
  auto number = [&](float value) { return op.node.constantScalar(ElementType::f32, value); };
  mlir::Value x = op.emit("clip", {op.in(0)}, {{"min", static_cast<double>(low)}, {"max", static_cast<double>(high)}});
  x = op.emit("mul", {op.emit("sub", {x, number(low)}), number(1.0f / scale)});
  op.set(op.emit("add", {op.emit("mul", {roundAway(op.node, x), number(scale)}), number(low)}));
}

/// The angle of (x, y), for the operands y and x.
void importAtan2(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Value y = op.in(0), x = op.in(1);
  ElementType type = op.node.info(y).type;
  auto number = [&](double value) { return op.node.constantScalar(type, value); };
  mlir::Value zero = number(0), below = op.emit("less", {y, zero});
  mlir::Value turn = op.emit("where", {below, number(-std::numbers::pi), number(std::numbers::pi)});
  mlir::Value angle = op.emit("atan", {op.emit("div", {y, x})});
  angle = op.emit("where", {op.emit("less", {x, zero}), op.emit("add", {angle, turn}), angle});
  mlir::Value nowhere = op.emit("and", {op.emit("equal", {x, zero}), op.emit("equal", {y, zero})});
  op.set(op.emit("where", {nowhere, zero, angle}));
}

/// The extents that two shapes broadcast to.
void importBroadcastArgs(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Value a = op.wide(0), b = op.wide(1);
  int64_t length = 0;
  for (mlir::Value shape : {a, b}) {
    require(op.rank(shape) == 1, "an operand has rank {}, expected 1", op.rank(shape));
    if (!op.dims(shape)[0].isConstant())
      op.unsupported("the length of a shape is not known");
    length = std::max(length, op.dims(shape)[0].constant());
  }
  auto aligned = [&](mlir::Value shape) {
    int64_t missing = length - op.dims(shape)[0].constant();
    return missing ? op.emit("pad", {shape, {}, {}}, {{"pads", Ints{missing, 0}}, {"value", 1.0}}) : shape;
  };
  a = aligned(a), b = aligned(b);
  mlir::Value one = op.emit("equal", {a, op.node.constantInts({}, {1})});
  op.set(op.node.cast(op.emit("where", {one, b, a}), op.outputType()));
}

/// True where the row is the column: bool rows x columns.
mlir::Value diagonalMask(Operator &op, int64_t rows, int64_t columns) {
  Ints row(static_cast<size_t>(rows)), column(static_cast<size_t>(columns));
  std::iota(row.begin(), row.end(), 0);
  std::iota(column.begin(), column.end(), 0);
  return op.emit("equal", {op.node.constantInts({rows, 1}, row), op.node.constantInts({columns}, column)});
}

int64_t known(Operator &op, const Dim &extent) {
  if (!extent.isConstant())
    op.unsupported(fmt::format("extent '{}' of a diagonal is not known; give it with --shape", extent.str()));
  return extent.constant();
}

void importMatrixDiag(Operator &op) {
  op.node.expectInputs(1, 1);
  Dims dims = op.dims(op.in(0));
  require(!dims.empty(), "the operand is a scalar");
  int64_t extent = known(op, dims.back());
  dims.push_back(Dim(1));
  mlir::Value zero = op.node.constantScalar(op.node.info(op.in(0)).type, 0);
  op.set(op.emit("where", {diagonalMask(op, extent, extent), op.node.reshape(op.in(0), dims), zero}));
}

void importMatrixSetDiag(Operator &op) {
  op.node.expectInputs(2, 2);
  const Dims dims = op.dims(op.in(0));
  Dims diagonal = op.dims(op.in(1));
  require(dims.size() >= 2 && diagonal.size() + 1 == dims.size(), "operands have ranks {} and {}", dims.size(),
          diagonal.size());
  int64_t rows = known(op, dims[dims.size() - 2]), columns = known(op, dims.back());
  require(known(op, diagonal.back()) == std::min(rows, columns), "the diagonal has {} elements, expected {}",
          diagonal.back().str(), std::min(rows, columns));
  mlir::Value values = op.in(1);
  if (rows > columns) {
    Ints pads(2 * diagonal.size());
    pads.back() = rows - columns;
    values = op.emit("pad", {values, {}, {}}, {{"pads", pads}});
  }
  diagonal = op.dims(values);
  diagonal.push_back(Dim(1));
  op.set(op.emit("where", {diagonalMask(op, rows, columns), op.node.reshape(values, diagonal), op.in(0)}));
}

/// Rows of equal numbers added up. The numbers rise, and the last one says how many rows the result has.
void importSegmentSum(Operator &op) {
  op.node.expectInputs(2, 2);
  Ints segments = op.node.requireInts(1, "the segments");
  Dims rows = op.dims(op.in(0)), column = op.dims(op.in(1));
  require(!rows.empty() && column.size() == 1 && std::is_sorted(segments.begin(), segments.end()),
          "the segments are not a rising list");
  require(segments.empty() || (segments.front() >= 0 && segments.back() < (1 << 24)), "there are {} segments",
          segments.empty() ? 0 : segments.back() + 1);
  rows[0] = Dim(segments.empty() ? 0 : segments.back() + 1);
  column.push_back(Dim(1));
  mlir::Value zeros = op.node.expand(op.node.constantScalar(op.node.info(op.in(0)).type, 0), rows, op.in(0));
  op.set(op.emit("scatter_nd", {zeros, op.node.reshape(op.wide(1), column), op.in(0)}, {{"reduction", "add"}}));
}

} // namespace

void addComposedImporters(Importers &table) {
  table[FAKE_QUANT] = {importFakeQuant};
  table[ATAN2] = {importAtan2};
  table[BROADCAST_ARGS] = {importBroadcastArgs};
  table[MATRIX_DIAG] = {importMatrixDiag, /*moves=*/true};
  table[MATRIX_SET_DIAG] = {importMatrixSetDiag, /*moves=*/true};
  table[SEGMENT_SUM] = {importSegmentSum};
}

} // namespace lathe::tflite
