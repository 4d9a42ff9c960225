// Operators that read or write at positions that other tensors hold, and tensors made of numbers.
#include "import/tflite/Tflite.h"

#include <numeric>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using Ints = std::vector<int64_t>;

/// With batch_dims the first axes of operand and indices are the same ones.
void importGather(Operator &op) {
  op.node.expectInputs(2, 2);
  const auto &options = op.options<file::GatherOptions>(BuiltinOptions::Gather);
  mlir::Value x = op.in(0), indices = op.wide(1);
  int64_t rank = op.rank(x), batch = options.batch_dims(), axis = normalizeAxis(options.axis(), rank, "the axis");
  batch += batch < 0 ? op.rank(indices) : 0;
  require(batch >= 0 && batch <= axis && batch <= op.rank(indices), "batch_dims is {} and the axis {}", batch, axis);
  if (batch == 0) {
    op.set(op.emit("gather", {x, indices}, {{"axis", axis}}));
    return;
  }
  // The axis directly behind the batch; the axes between come behind the indices.
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
  for (int64_t i = 0; i < op.rank(y); ++i) // batch, between, places, rest from batch, places, between, rest
    back.push_back(i < batch ? i : i < batch + between ? i + places : i < batch + between + places ? i - between : i);
  op.set(transpose(op.node, y, back));
}

void importGatherNd(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(op.emit("gather_nd", {op.in(0), op.wide(1)}));
}

/// Rows of the values; hybrid ones become floats.
void importEmbedding(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Value rows = op.emit("gather", {op.in(1), op.wide(0)}, {{"axis", 0}});
  if (op.outputType() != op.inputType(1)) {
    auto from = op.inputQuantization(1);
    if (!from || from->perChannel() || op.outputType() != ElementType::f32)
      op.unsupported(fmt::format("values of {} and results of {}", name(op.inputType(1)), name(op.outputType())));
    mlir::Value number = op.node.cast(rows, ElementType::f32);
    number = op.emit("sub", {number, op.node.constantScalar(ElementType::f32, double(from->zeroPoints[0]))});
    rows = op.emit("mul", {number, op.node.constantScalar(ElementType::f32, from->scales[0])});
  }
  op.set(rows);
}

mlir::Value filled(Operator &op, mlir::Value shape, ElementType type, double value) {
  return op.emit("constant_of_shape", {shape}, {{"value", value}, {"type", type}});
}

/// Updates at equal positions add up.
void importScatterNd(Operator &op) {
  op.node.expectInputs(3, 3);
  bool adds = isFloat(op.inputType(1)) || isInteger(op.inputType(1));
  mlir::Value zeros = filled(op, op.wide(2), op.inputType(1), 0);
  op.set(op.emit("scatter_nd", {zeros, op.wide(0), op.in(1)}, {{"reduction", adds ? "add" : "none"}}));
}

void importSparseToDense(Operator &op) { // positions, extents, values, value elsewhere
  op.node.expectInputs(4, 4);
  mlir::Value indices = op.wide(0), values = op.in(2);
  int64_t axes = product(op.dims(op.in(1))).constantOr(0);
  require(axes > 0, "the extents of the result are not known");
  if (op.rank(indices) < 2) { // positions along one axis, or a single position
    Dims dims = {op.rank(indices) == 0 || axes > 1 ? Dim(1) : op.dims(indices)[0], Dim(axes)};
    indices = op.node.reshape(indices, dims);
  }
  if (op.rank(values) == 0)
    values = op.node.expand(values, {op.dims(indices)[0]}, indices);
  mlir::Value rest = op.emit("expand", {op.in(3), op.wide(1)});
  op.set(op.emit("scatter_nd", {rest, indices, values}));
}

/// A constant tensor of 0, 1, ... in the extents of `dims` along `axis`, 1 elsewhere.
mlir::Value ramp(Operator &op, int64_t extent, size_t axis, size_t rank) {
  Ints dims(rank, 1), values(static_cast<size_t>(extent));
  dims[axis] = extent;
  std::iota(values.begin(), values.end(), 0);
  return op.node.constantInts(dims, values);
}

/// The update where the run says, moved inside of the operand where it would stand out.
void importDynamicUpdateSlice(Operator &op) {
  op.node.expectInputs(3, 3);
  mlir::Value x = op.in(0), update = op.in(1), starts = op.wide(2);
  const Dims dims = op.dims(x), part = op.dims(update);
  require(dims.size() == part.size() && !dims.empty(), "the operand is {} and the update {}, expected equal ranks",
          str(dims), str(part));
  if (!allConstant(dims) || !allConstant(part))
    op.unsupported(fmt::format("extents {} and {} are not all known; give them with --shape", str(dims), str(part)));
  Values columns;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    auto at = static_cast<int64_t>(axis);
    mlir::Value start = op.emit("slice", {starts}, {{"starts", Ints{at}}, {"ends", Ints{at + 1}}});
    int64_t last = dims[axis].constant() - part[axis].constant();
    require(last >= 0, "the update {} is larger than the operand {}", str(part), str(dims));
    start = op.emit("max", {op.emit("min", {start, op.node.constantInts({}, {last})}), op.node.constantInts({}, {0})});
    mlir::Value index = op.emit("add", {ramp(op, part[axis].constant(), axis, part.size()), start});
    Dims column = part;
    index = op.node.expand(index, part, update);
    column.push_back(Dim(1));
    columns.push_back(op.node.reshape(index, column));
  }
  op.set(op.emit("scatter_nd", {x, op.emit("concat", columns, {{"axis", -1}}), update}));
}

/// Rows of the operand combined by the segment that each belongs to; a negative segment drops its row.
void importUnsortedSegment(Operator &op) {
  op.node.expectInputs(3, 3);
  mlir::Value x = op.in(0), ids = op.wide(1);
  Ints count = op.node.requireInts(2, "the number of segments");
  require(count.size() == 1 && count[0] >= 0, "has {} numbers of segments, expected 1", count.size());
  ElementType type = op.inputType(0);
  struct Kind {
    const char *reduction;
    double start;
  };
  double limit = type == ElementType::f32   ? std::numeric_limits<float>::max()
                 : type == ElementType::i32 ? std::numeric_limits<int32_t>::max()
                                            : 0;
  if (limit == 0)
    op.unsupported(fmt::format("segments of {}", name(type)));
  double least = type == ElementType::f32 ? -limit : -limit - 1;
  Kind kind = op.code() == UNSORTED_SEGMENT_SUM    ? Kind{"add", 0}
              : op.code() == UNSORTED_SEGMENT_PROD ? Kind{"mul", 1}
              : op.code() == UNSORTED_SEGMENT_MAX  ? Kind{"max", least}
                                                   : Kind{"min", limit};
  int64_t idRank = op.rank(ids);
  Dims dims = op.dims(x);
  require(idRank <= static_cast<int64_t>(dims.size()), "the segments have rank {}, expected at most {}", idRank,
          dims.size());
  // A row more takes what is dropped.
  Dims rows(dims.begin() + idRank, dims.end());
  rows.insert(rows.begin(), Dim(count[0] + 1));
  mlir::Value dropped = op.emit("less", {ids, op.node.constantInts({}, {0})});
  ids = op.emit("where", {dropped, op.node.constantInts({}, {count[0]}), ids});
  Dims column = op.dims(ids);
  column.push_back(Dim(1));
  mlir::Value start = op.node.expand(op.node.constantScalar(type, kind.start), rows, x);
  mlir::Value all = op.emit("scatter_nd", {start, op.node.reshape(ids, column), x}, {{"reduction", kind.reduction}});
  op.set(op.emit("slice", {all}, {{"starts", Ints{0}}, {"ends", Ints{count[0]}}, {"axes", Ints{0}}}));
}

void importTopK(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Operation *best = nullptr;
  if (auto k = op.node.staticInts(op.in(1)); k && k->size() == 1)
    best = op.node.emitOp("top_k", {op.in(0), {}}, {{"k", k->front()}, {"axis", -1}});
  else
    best = op.node.emitOp("top_k", {op.in(0), op.node.reshape(op.wide(1), {Dim(1)})}, {{"axis", -1}});
  op.set(best->getResult(0));
  op.node.set(1, op.node.cast(best->getResult(1), op.outputType(1)));
}

void importOneHot(Operator &op) { // indices, depth, value at the index, value elsewhere
  op.node.expectInputs(4, 4);
  mlir::Value indices = op.wide(0);
  Ints depth = op.node.requireInts(1, "the depth");
  require(depth.size() == 1 && depth[0] >= 0 && depth[0] < (int64_t(1) << 31), "the depth is not one positive number");
  Dims dims = op.dims(indices);
  int64_t axis = normalizeAxis(op.options<file::OneHotOptions>(BuiltinOptions::OneHot).axis(),
                               static_cast<int64_t>(dims.size()) + 1, "the axis");
  dims.insert(dims.begin() + axis, Dim(1));
  mlir::Value classes = ramp(op, depth[0], static_cast<size_t>(axis), dims.size());
  mlir::Value hit = op.emit("equal", {op.node.reshape(indices, dims), classes});
  op.set(op.emit("where", {hit, op.node.reshape(op.in(2), {}), op.node.reshape(op.in(3), {})}));
}

/// Positions of what is true, a row for each.
void importWhere(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(transpose(op.node, op.emit("non_zero", {op.in(0)}), {1, 0}));
}

void importUnique(Operator &op) {
  op.node.expectInputs(1, 1);
  mlir::Operation *unique = op.node.emitOp("unique", {op.in(0)}, {{"sorted", false}});
  op.set(unique->getResult(0));
  op.node.set(1, op.node.cast(unique->getResult(2), op.outputType(1)));
}

void importRange(Operator &op) {
  op.node.expectInputs(3, 3);
  op.set(
      op.emit("range", {op.node.reshape(op.in(0), {}), op.node.reshape(op.in(1), {}), op.node.reshape(op.in(2), {})}));
}

void importFill(Operator &op) {
  op.node.expectInputs(2, 2);
  if (auto shape = op.node.staticInts(op.in(0)))
    op.set(op.emit("expand", {op.in(1), {}}, {{"shape", *shape}}));
  else
    op.set(op.emit("expand", {op.in(1), op.wide(0)}));
}

void importZerosLike(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(filled(op, op.emit("shape", {op.in(0)}), op.inputType(0), 0));
}

/// A column of comparisons for every element: how many boundaries it has reached.
void importBucketize(Operator &op) {
  op.node.expectInputs(1, 1);
  const auto *boundaries = op.options<file::BucketizeOptions>(BuiltinOptions::Bucketize).boundaries();
  require(boundaries != nullptr, "has no boundaries");
  TensorData data{ElementType::f32, {static_cast<int64_t>(boundaries->size())}, {}, {}};
  const char *bytes = reinterpret_cast<const char *>(boundaries->data());
  data.bytes.assign(bytes, bytes + boundaries->size() * sizeof(float));
  Dims dims = op.dims(op.in(0));
  dims.push_back(Dim(1));
  mlir::Value x = op.node.cast(op.node.reshape(op.in(0), dims), ElementType::f32);
  mlir::Value reached = op.node.cast(op.emit("greater_equal", {x, op.node.constant(data)}), ElementType::i32);
  op.set(op.emit("reduce_sum", {reached}, {{"axes", Ints{-1}}, {"keepdims", false}}));
}

} // namespace

void addIndexedImporters(Importers &table) {
  auto add = [&](BuiltinOperator code, void (*run)(Operator &)) { table[code] = {run, /*moves=*/true}; };
  add(GATHER, importGather);
  add(GATHER_ND, importGatherNd);
  add(EMBEDDING_LOOKUP, importEmbedding);
  add(TOPK_V2, importTopK);
  add(ONE_HOT, importOneHot);
  add(WHERE, importWhere);
  add(UNIQUE, importUnique);
  add(FILL, importFill);
  add(DYNAMIC_UPDATE_SLICE, importDynamicUpdateSlice);
  table[SCATTER_ND] = {importScatterNd, /*moves=*/true};
  table[SPARSE_TO_DENSE] = {importSparseToDense, /*moves=*/true};
  table[RANGE] = {importRange};
  table[ZEROS_LIKE] = {importZerosLike};
  table[BUCKETIZE] = {importBucketize};
  for (BuiltinOperator code : {UNSORTED_SEGMENT_SUM, UNSORTED_SEGMENT_PROD, UNSORTED_SEGMENT_MAX, UNSORTED_SEGMENT_MIN})
    table[code] = {importUnsortedSegment};
}

} // namespace lathe::tflite
