// Operators that read or write at positions that other tensors hold, and tensors made of numbers.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

void importGather(Operator &op) {
  op.node.expectInputs(2, 2);
  const auto &options = op.options<file::GatherOptions>(BuiltinOptions::Gather);
  op.set(gatherAlong(op, op.in(0), op.wide(1), options.axis(), options.batch_dims()));
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

void importScatterNd(Operator &op) {
  op.node.expectInputs(3, 3);
  op.set(scatterInto(op, op.wide(0), op.in(1), op.wide(2)));
}

void importSparseToDense(Operator &op) { // positions, extents, values, value elsewhere
  op.node.expectInputs(4, 4);
  op.set(sparseToDense(op, op.wide(0), op.in(1), op.in(2), op.in(3)));
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

void importUnsortedSegment(Operator &op) {
  op.node.expectInputs(3, 3);
  Ints count = op.node.requireInts(2, "the number of segments");
  require(count.size() == 1, "has {} numbers of segments, expected 1", count.size());
  const char *reduction = op.code() == UNSORTED_SEGMENT_SUM    ? "add"
                          : op.code() == UNSORTED_SEGMENT_PROD ? "mul"
                          : op.code() == UNSORTED_SEGMENT_MAX  ? "max"
                                                               : "min";
  op.set(unsortedSegment(op, op.in(0), op.wide(1), count[0], reduction));
}

void importTopK(Operator &op) {
  op.node.expectInputs(2, 2);
  mlir::Operation *best = topK(op, op.in(0), op.in(1));
  op.set(best->getResult(0));
  op.node.set(1, op.node.cast(best->getResult(1), op.outputType(1)));
}

void importOneHot(Operator &op) { // indices, depth, value at the index, value elsewhere
  op.node.expectInputs(4, 4);
  Ints depth = op.node.requireInts(1, "the depth");
  require(depth.size() == 1, "has {} depths, expected 1", depth.size());
  op.set(oneHot(op, op.in(0), depth[0], op.in(2), op.in(3),
                op.options<file::OneHotOptions>(BuiltinOptions::OneHot).axis()));
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
  op.set(broadcastTo(op, op.in(1), op.in(0)));
}

void importZerosLike(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(filled(op, op.emit("shape", {op.in(0)}), op.inputType(0), 0));
}

void importBucketize(Operator &op) {
  op.node.expectInputs(1, 1);
  const auto *boundaries = op.options<file::BucketizeOptions>(BuiltinOptions::Bucketize).boundaries();
  require(boundaries != nullptr, "has no boundaries");
  op.set(bucketize(op, op.in(0), {boundaries->begin(), boundaries->end()}));
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
