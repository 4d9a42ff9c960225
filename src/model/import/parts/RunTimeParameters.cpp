#include "import/parts/RunTimeParameters.h"

#include <limits>
#include <numeric>

namespace lathe::source {
namespace {

using Ints = std::vector<int64_t>;

mlir::Value vectorOf(Node &node, const Ints &values) {
  return node.constantInts({static_cast<int64_t>(values.size())}, values);
}

mlir::Value countUp(Node &node, int64_t count) {
  Ints values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return vectorOf(node, values);
}

mlir::Value reshaped(Node &node, mlir::Value x, const Ints &shape) {
  return node.emit("reshape", {x}, {{"shape", shape}, {"allow_zero", true}});
}

mlir::Value slice(Node &node, mlir::Value x, int64_t begin, int64_t end) {
  return node.emit("slice", {x}, {{"starts", Ints{begin}}, {"ends", Ints{end}}, {"axes", Ints{0}}});
}

mlir::Value sumOver(Node &node, mlir::Value x, int64_t axis, bool keep) {
  return node.emit("reduce_sum", {x}, {{"axes", Ints{axis}}, {"keepdims", keep}});
}

/// For each axis in `axes` (row) and each of `rank` axes (column): whether they are the same axis.
mlir::Value isAxis(Node &node, mlir::Value axes, int64_t rank) {
  int64_t count = axisCount(node, axes);
  axes = reshaped(node, node.cast(axes, ElementType::i64), {count});
  // Negative axes count from the end, and gather reports invalid axes like any invalid index.
  axes = node.emit("gather", {countUp(node, rank), axes});
  return node.emit("equal", {reshaped(node, axes, {count, 1}), reshaped(node, countUp(node, rank), {1, rank})});
}

/// How often `axes` names each of `rank` axes.
mlir::Value timesNamed(Node &node, mlir::Value axes, int64_t rank) {
  return sumOver(node, node.cast(isAxis(node, axes, rank), ElementType::i64), 0, false);
}

/// x with `extent` along an axis. It is an error of the run if x has another extent.
mlir::Value withExtent(Node &node, mlir::Value x, int64_t axis, mlir::Value extent) {
  mlir::Value shape = node.emit("shape", {x});
  int64_t rank = node.rank(x);
  Values parts;
  if (axis > 0)
    parts.push_back(slice(node, shape, 0, axis));
  parts.push_back(extent);
  if (axis + 1 < rank)
    parts.push_back(slice(node, shape, axis + 1, rank));
  mlir::Value target = parts.size() == 1 ? extent : node.emit("concat", parts, {{"axis", int64_t(0)}});
  mlir::Value result = node.emit("reshape", {x, target}, {{"allow_zero", true}});
  TensorInfo better = node.info(result); // keep the other extents
  Dim own = better.dims[static_cast<size_t>(axis)];
  better.dims = node.info(x).dims;
  better.dims[static_cast<size_t>(axis)] = own;
  result.setType(nn::toMlirType(node.graph.builder.getContext(), better));
  node.graph.known.setInfo(result, better);
  return result;
}

/// A null start means the beginning, a null end the end.
mlir::Value pieceOf(Node &node, mlir::Value x, int64_t axis, mlir::Value start, mlir::Value end) {
  if (!start && !end)
    return x;
  if (!start)
    return node.emit("slice", {x, {}, end}, {{"starts", Ints{0}}, {"axes", Ints{axis}}});
  if (!end)
    return node.emit("slice", {x, start}, {{"ends", Ints{std::numeric_limits<int64_t>::max()}}, {"axes", Ints{axis}}});
  return node.emit("slice", {x, start, end}, {{"axes", Ints{axis}}});
}

} // namespace

mlir::Value extentVector(Node &node, mlir::Value x, int64_t axis) {
  return node.emit("shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

int64_t axisCount(Node &node, mlir::Value axes) {
  require(isInteger(node.info(axes).type), "the axes are {}, expected integers", name(node.info(axes).type));
  Dim count = product(node.info(axes).dims);
  if (!count.isConstant())
    node.unsupported("the number of axes is computed at run time, so that the rank of the result is not known");
  return count.constant();
}

mlir::Value spreadOverAxes(Node &node, mlir::Value values, mlir::Value axes, int64_t rank, int64_t rest) {
  int64_t count = axisCount(node, axes);
  require(product(node.info(values).dims) == Dim(count), "{} axes have {} values", count,
          product(node.info(values).dims).str());
  if (count == 0)
    return vectorOf(node, Ints(static_cast<size_t>(rank), rest));
  values = reshaped(node, node.cast(values, ElementType::i64), {count, 1});
  if (rest != 0)
    values = node.emit("sub", {values, node.constantInts({}, {rest})});
  mlir::Value chosen = node.emit("where", {isAxis(node, axes, rank), values, node.constantInts({}, {0})});
  mlir::Value spread = sumOver(node, chosen, 0, false);
  return rest == 0 ? spread : node.emit("add", {spread, node.constantInts({}, {rest})});
}

mlir::Value squeezeAt(Node &node, mlir::Value x, mlir::Value axes) {
  int64_t rank = node.rank(x), left = rank - axisCount(node, axes);
  require(left >= 0, "names {} axes of {}", rank - left, rank);
  if (left == rank)
    return x;
  if (left == 0)
    return node.reshape(x, {});
  mlir::Value named = timesNamed(node, axes, rank), one = node.constantInts({}, {1});
  mlir::Value kept = node.emit("equal", {named, node.constantInts({}, {0})});
  // The position of each kept axis in the result.
  mlir::Value place = node.emit("sub", {node.emit("cum_sum", {node.cast(kept, ElementType::i64)}, {{"axis", 0}}), one});
  mlir::Value at =
      node.emit("equal", {reshaped(node, place, {1, rank}), reshaped(node, countUp(node, left), {left, 1})});
  mlir::Value here = node.emit("and", {at, reshaped(node, kept, {1, rank})});
  mlir::Value extents =
      node.emit("where", {here, reshaped(node, node.emit("shape", {x}), {1, rank}), node.constantInts({}, {0})});
  mlir::Value target = sumOver(node, extents, 1, false);
  // An axis that is named twice leaves one axis too many, whose position is beyond the result. Otherwise this adds 0.
  mlir::Value last = node.emit("gather", {countUp(node, left), slice(node, place, rank - 1, rank)});
  mlir::Value none = node.emit("sub", {last, node.constantInts({}, {left - 1})});
  return node.emit("reshape", {x, node.emit("add", {target, none})}, {{"allow_zero", true}});
}

mlir::Value unsqueezeAt(Node &node, mlir::Value x, mlir::Value axes) {
  int64_t rank = node.rank(x) + axisCount(node, axes);
  if (rank == node.rank(x))
    return x;
  if (node.rank(x) == 0)
    return node.reshape(x, Dims(static_cast<size_t>(rank), Dim(1)));
  mlir::Value old = node.emit("equal", {timesNamed(node, axes, rank), node.constantInts({}, {0})});
  // The axis of x at each position; entries of new axes are not read. An axis that is named twice leaves one old axis
  // too many, whose index is beyond the last axis.
  mlir::Value count = node.emit("cum_sum", {node.cast(old, ElementType::i64)}, {{"axis", 0}});
  mlir::Value from =
      node.emit("max", {node.emit("sub", {count, node.constantInts({}, {1})}), node.constantInts({}, {0})});
  mlir::Value extents = node.emit("gather", {node.emit("shape", {x}), from});
  mlir::Value target = node.emit("where", {old, extents, node.constantInts({}, {1})});
  return node.emit("reshape", {x, target}, {{"allow_zero", true}});
}

Values piecesOf(Node &node, mlir::Value x, int64_t axis, mlir::Value sizes, int64_t count) {
  mlir::Value zero = node.constantInts({}, {0});
  mlir::Value known = node.emit("max", {sizes, zero});
  // Every negative size makes the sum greater than any extent.
  mlir::Value below = sumOver(node, node.emit("sub", {known, sizes}), 0, true);
  mlir::Value total = node.emit(
      "add", {sumOver(node, known, 0, true), node.emit("mul", {below, node.constantInts({}, {int64_t(1) << 40})})});
  x = withExtent(node, x, axis, total);
  mlir::Value ends = node.emit("cum_sum", {known}, {{"axis", 0}});
  Values pieces;
  mlir::Value start;
  for (int64_t i = 0; i < count; ++i) {
    mlir::Value end = slice(node, ends, i, i + 1);
    pieces.push_back(pieceOf(node, x, axis, start, end));
    start = end;
  }
  return pieces;
}

Values equalPieces(Node &node, mlir::Value x, int64_t axis, int64_t count, bool uneven) {
  mlir::Value extent = extentVector(node, x, axis), number = vectorOf(node, {count});
  if (uneven)
    extent = node.emit("add", {extent, vectorOf(node, {count - 1})});
  mlir::Value size = node.emit("div", {extent, number});
  if (!uneven)
    x = withExtent(node, x, axis, node.emit("mul", {size, number}));
  Values pieces;
  mlir::Value start;
  for (int64_t i = 1; i <= count; ++i) {
    mlir::Value end = i == count ? mlir::Value() : node.emit("mul", {size, vectorOf(node, {i})});
    pieces.push_back(pieceOf(node, x, axis, start, end));
    start = end;
  }
  return pieces;
}

} // namespace lathe::source
