// Elements read and written at positions that other tensors hold.
#include "import/parts/Emitter.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace lathe::source {

mlir::Value gatherAlong(Emitter &op, mlir::Value x, mlir::Value indices, int64_t axis, int64_t batch) {
  int64_t rank = op.rank(x);
  axis = normalizeAxis(axis, rank, "the axis");
  batch += batch < 0 ? op.rank(indices) : 0;
  require(batch >= 0 && batch <= axis && batch <= op.rank(indices), "batch_dims is {} and the axis {}", batch, axis);
  if (batch == 0)
    return op.emit("gather", {x, indices}, {{"axis", axis}});
  // Moves `axis` to the place behind the batch axes. In the result of gather_nd, the axes that it passed lie behind the
  // axes of `indices`.
  Ints perm, back;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      perm.push_back(i);
  perm.insert(perm.begin() + batch, axis);
  Dims dims = op.dims(indices);
  int64_t places = static_cast<int64_t>(dims.size()) - batch, between = axis - batch;
  dims.push_back(Dim(1));
  mlir::Value y =
      op.emit("gather_nd", {transpose(op.node, x, perm), op.node.reshape(indices, dims)}, {{"batch_dims", batch}});
  for (int64_t i = 0; i < op.rank(y); ++i) // from batch, places, between, rest to batch, between, places, rest
    back.push_back(i < batch ? i : i < batch + between ? i + places : i < batch + between + places ? i - between : i);
  return transpose(op.node, y, back);
}

mlir::Value filled(Emitter &op, mlir::Value shape, ElementType type, double value) {
  return op.emit("constant_of_shape", {shape}, {{"value", value}, {"type", type}});
}

mlir::Value scatterInto(Emitter &op, mlir::Value indices, mlir::Value updates, mlir::Value shape) {
  op.node.ignore({"bad_indices_policy"});
  indices = op.wide(indices), shape = op.wide(shape);
  ElementType type = op.typeOf(updates);
  bool adds = isFloat(type) || isInteger(type);
  return op.emit("scatter_nd", {filled(op, shape, type, 0), indices, updates}, {{"reduction", adds ? "add" : "none"}});
}

mlir::Value sparseToDense(Emitter &op, mlir::Value indices, mlir::Value shape, mlir::Value values,
                          mlir::Value restValue) {
  indices = op.wide(indices);
  int64_t axes = product(op.dims(shape)).constantOr(0);
  require(axes > 0, "the extents of the result are not known");
  if (op.rank(indices) < 2) { // positions along one axis, or a single position
    Dims dims = {op.rank(indices) == 0 || axes > 1 ? Dim(1) : op.dims(indices)[0], Dim(axes)};
    indices = op.node.reshape(indices, dims);
  }
  if (op.rank(values) == 0)
    values = op.node.expand(values, {op.dims(indices)[0]}, indices);
  mlir::Value rest = broadcastTo(op, restValue, shape);
  return op.emit("scatter_nd", {rest, indices, values});
}

int64_t madeElements(const Ints &dims, const std::string &what) {
  constexpr int64_t limit = int64_t(1) << 24;
  int64_t elements = checkedElements(dims, what);
  require(elements <= limit, "{} has {} elements, expected at most {}", what, elements, limit);
  return elements;
}

mlir::Value ramp(Emitter &op, int64_t extent, size_t axis, size_t rank) {
  madeElements({extent}, "a list of positions");
  Ints dims(rank, 1), values(static_cast<size_t>(extent));
  dims[axis] = extent;
  std::iota(values.begin(), values.end(), 0);
  return op.node.constantInts(dims, values);
}

mlir::Value unsortedSegment(Emitter &op, mlir::Value x, mlir::Value ids, int64_t count, const char *reduction) {
  require(count >= 0 && count < (int64_t(1) << 31), "has {} segments", count);
  ElementType type = op.typeOf(x);
  std::string_view kind = reduction;
  double limit = type == ElementType::f32   ? std::numeric_limits<float>::max()
                 : type == ElementType::i32 ? std::numeric_limits<int32_t>::max()
                                            : 0;
  if (limit == 0)
    op.unsupported(fmt::format("segments of {}", name(type)));
  double least = type == ElementType::f32 ? -limit : -limit - 1;
  double first = kind == "add" ? 0 : kind == "mul" ? 1 : kind == "max" ? least : limit;
  int64_t idRank = op.rank(ids);
  Dims dims = op.dims(x);
  require(idRank <= static_cast<int64_t>(dims.size()), "the segments have rank {}, expected at most {}", idRank,
          dims.size());
  // An additional row receives the dropped rows.
  Dims rows(dims.begin() + idRank, dims.end());
  rows.insert(rows.begin(), Dim(count + 1));
  mlir::Value dropped = op.emit("less", {ids, op.node.constantInts({}, {0})});
  ids = op.emit("where", {dropped, op.node.constantInts({}, {count}), ids});
  Dims column = op.dims(ids);
  column.push_back(Dim(1));
  mlir::Value start = op.node.expand(op.node.constantScalar(type, first), rows, x);
  mlir::Value all = op.emit("scatter_nd", {start, op.node.reshape(ids, column), x}, {{"reduction", reduction}});
  return cut(op, all, 0, 0, count);
}

mlir::Operation *topK(Emitter &op, mlir::Value x, mlir::Value k) {
  if (auto known = op.node.staticInts(k); known && known->size() == 1)
    return op.node.emitOp("top_k", {x, {}}, {{"k", known->front()}, {"axis", -1}});
  return op.node.emitOp("top_k", {x, op.node.reshape(op.wide(k), {Dim(1)})}, {{"axis", -1}});
}

mlir::Value oneHot(Emitter &op, mlir::Value indices, mlir::Value, mlir::Value on, mlir::Value off) {
  Ints depth = op.node.requireInts(1, "the depth");
  require(depth.size() == 1, "has {} depths, expected 1", depth.size());
  Dims dims = op.dims(indices);
  int64_t axis = normalizeAxis(op.option("axis", -1), static_cast<int64_t>(dims.size()) + 1, "the axis");
  dims.insert(dims.begin() + axis, Dim(1));
  mlir::Value classes = ramp(op, depth[0], static_cast<size_t>(axis), dims.size());
  mlir::Value hit = op.emit("equal", {op.node.reshape(op.wide(indices), dims), classes});
  return op.emit("where", {hit, op.node.reshape(on, {}), op.node.reshape(off, {})});
}

mlir::Value segmentSum(Emitter &op, mlir::Value x, mlir::Value numbers) {
  auto known = op.node.staticInts(numbers);
  if (!known)
    op.unsupported("the segments are computed at run time");
  const Ints &segments = *known;
  Dims rows = op.dims(x), column = op.dims(numbers);
  require(!rows.empty() && column.size() == 1 && std::is_sorted(segments.begin(), segments.end()),
          "the segments are not a rising list");
  require(segments.empty() || (segments.front() >= 0 && segments.back() < (1 << 24)), "there are {} segments",
          segments.empty() ? 0 : segments.back() + 1);
  rows[0] = Dim(segments.empty() ? 0 : segments.back() + 1);
  column.push_back(Dim(1));
  mlir::Value zeros = op.node.expand(op.number(op.typeOf(x), 0), rows, x);
  return op.emit("scatter_nd", {zeros, op.node.reshape(op.wide(numbers), column), x}, {{"reduction", "add"}});
}

/// A bool mask of rows x columns, true on the diagonal.
static mlir::Value diagonalMask(Emitter &op, int64_t rows, int64_t columns) {
  return op.emit("equal", {ramp(op, rows, 0, 2), ramp(op, columns, 0, 1)});
}

mlir::Value bucketize(Emitter &op, mlir::Value x, const std::vector<float> &boundaries) {
  TensorData data{ElementType::f32, {static_cast<int64_t>(boundaries.size())}, {}, {}};
  const char *bytes = reinterpret_cast<const char *>(boundaries.data());
  data.bytes.assign(bytes, bytes + boundaries.size() * sizeof(float));
  Dims dims = op.dims(x);
  dims.push_back(Dim(1));
  x = op.node.cast(op.node.reshape(x, dims), ElementType::f32);
  mlir::Value reached = op.node.cast(op.emit("greater_equal", {x, op.node.constant(data)}), ElementType::i32);
  return op.emit("reduce_sum", {reached}, {{"axes", Ints{-1}}, {"keepdims", false}});
}

mlir::Value matrixDiag(Emitter &op, mlir::Value x) {
  Dims dims = op.dims(x);
  require(!dims.empty(), "the operand is a scalar");
  int64_t extent = knownExtent(op, dims.back(), "a diagonal");
  dims.push_back(Dim(1));
  mlir::Value zero = op.number(op.typeOf(x), 0);
  return op.emit("where", {diagonalMask(op, extent, extent), op.node.reshape(x, dims), zero});
}

mlir::Value matrixSetDiag(Emitter &op, mlir::Value x, mlir::Value values) {
  const Dims dims = op.dims(x);
  Dims diagonal = op.dims(values);
  require(dims.size() >= 2 && diagonal.size() + 1 == dims.size(), "operands have ranks {} and {}", dims.size(),
          diagonal.size());
  int64_t rows = knownExtent(op, dims[dims.size() - 2], "a diagonal"),
          columns = knownExtent(op, dims.back(), "a diagonal");
  require(knownExtent(op, diagonal.back(), "a diagonal") == std::min(rows, columns),
          "the diagonal has {} elements, expected {}", diagonal.back().str(), std::min(rows, columns));
  if (rows > columns) {
    Ints pads(2 * diagonal.size());
    pads.back() = rows - columns;
    values = op.emit("pad", {values, {}, {}}, {{"pads", pads}});
  }
  diagonal = op.dims(values);
  diagonal.push_back(Dim(1));
  return op.emit("where", {diagonalMask(op, rows, columns), op.node.reshape(values, diagonal), x});
}

} // namespace lathe::source
