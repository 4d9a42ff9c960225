// Operators that read or write at positions that other tensors hold, and tensors made of numbers.
#include "import/tensorflow/TensorFlow.h"

#include <cstring>

namespace lathe::tensorflow {
namespace {

void importGather(Operator &op) { // the axis of the second version is an operand
  bool second = op.code() == "GatherV2";
  op.node.expectInputs(second ? 3 : 2, second ? 3 : 2);
  int64_t axis = second ? axisOperand(op, 2, op.rank(op.in(0))) : 0;
  int64_t batch = op.node.intAttr("batch_dims", 0);
  if (!second && batch > 0)
    axis = batch;
  op.node.ignore({"dtype"});
  op.set(gatherAlong(op, op.in(0), op.wide(1), axis, batch));
}

void importGatherNd(Operator &op) {
  op.node.expectInputs(2, 2);
  op.node.ignore({"bad_indices_policy", "dtype"});
  op.set(op.emit("gather_nd", {op.in(0), op.wide(1)}));
}

void importScatterNd(Operator &op) { // positions, updates, extents
  op.node.expectInputs(3, 3);
  op.node.ignore({"bad_indices_policy"});
  op.set(scatterInto(op, op.wide(0), op.in(1), op.wide(2)));
}

/// Operand, positions, updates.
void importTensorScatter(Operator &op) {
  op.node.expectInputs(3, 3);
  op.node.ignore({"bad_indices_policy"});
  std::string kind = op.code().substr(std::string("TensorScatter").size());
  const char *reduction = kind == "Update" ? "none" : kind == "Max" ? "max" : kind == "Min" ? "min" : "add";
  mlir::Value updates = kind == "Sub" ? op.emit("neg", {op.in(2)}) : op.in(2);
  op.set(op.emit("scatter_nd", {op.in(0), op.wide(1), updates}, {{"reduction", reduction}}));
}

void importSparseToDense(Operator &op) { // positions, extents, values, value elsewhere
  op.node.expectInputs(4, 4);
  op.set(sparseToDense(op, op.wide(0), op.in(1), op.in(2), op.in(3)));
}

void importOneHot(Operator &op) { // indices, depth, value at the index, value elsewhere
  op.node.expectInputs(4, 4);
  Ints depth = op.node.requireInts(1, "the depth");
  require(depth.size() == 1, "has {} depths, expected 1", depth.size());
  op.set(oneHot(op, op.in(0), depth[0], op.in(2), op.in(3), op.node.intAttr("axis", -1)));
}

void importTopK(Operator &op) { // k of the first version is an attribute
  bool second = op.code() == "TopKV2";
  op.node.expectInputs(second ? 2 : 1, second ? 2 : 1);
  op.node.ignore({"sorted"});
  mlir::Value k = second ? op.in(1) : op.node.constantInts({}, {op.node.intAttr("k", 1)});
  mlir::Operation *best = topK(op, op.in(0), k);
  op.set(best->getResult(0));
  op.node.set(1, op.node.cast(best->getResult(1), op.typeAttr("index_type", ElementType::i32)));
}

/// Positions of what is true, a row for each.
void importWhere(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(transpose(op.node, op.emit("non_zero", {op.in(0)}), {1, 0}));
}

void importUnique(Operator &op) {
  if (op.code() == "UniqueV2") {
    op.node.expectInputs(2, 2);
    if (!op.node.requireInts(1, "the axis").empty() && op.rank(op.in(0)) != 1)
      op.unsupported("unique slices along an axis");
  } else {
    op.node.expectInputs(1, 1);
  }
  ElementType type = op.typeAttr("out_idx", ElementType::i32);
  mlir::Operation *unique = op.node.emitOp("unique", {op.in(0)}, {{"sorted", false}});
  op.set(unique->getResult(0));
  op.node.set(1, op.node.cast(unique->getResult(2), type));
  if (op.code() == "UniqueWithCounts")
    op.node.set(2, op.node.cast(unique->getResult(3), type));
}

void importUnsortedSegment(Operator &op) {
  op.node.expectInputs(3, 3);
  Ints count = op.node.requireInts(2, "the number of segments");
  require(count.size() == 1, "has {} numbers of segments, expected 1", count.size());
  const char *reduction = op.code().ends_with("Sum")    ? "add"
                          : op.code().ends_with("Prod") ? "mul"
                          : op.code().ends_with("Max")  ? "max"
                                                        : "min";
  op.set(unsortedSegment(op, op.in(0), op.wide(1), count[0], reduction));
}

void importSegmentSum(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(segmentSum(op, op.in(0), op.in(1)));
}

void importRange(Operator &op) {
  op.node.expectInputs(3, 3);
  op.set(op.emit("range", {op.scalar(0), op.scalar(1), op.scalar(2)}));
}

/// start, stop and the number of values, all of which must be known.
void importLinSpace(Operator &op) {
  op.node.expectInputs(3, 3);
  auto start = op.node.staticDoubles(op.in(0)), stop = op.node.staticDoubles(op.in(1));
  Ints count = op.node.requireInts(2, "the number of values");
  if (!start || !stop)
    op.unsupported("its ends are computed at run time");
  require(start->size() == 1 && stop->size() == 1 && count.size() == 1 && count[0] >= 1 && count[0] < (1 << 24),
          "has {} values, expected 1 to 2^24", count.empty() ? 0 : count[0]);
  TensorData data{ElementType::f64, {count[0]}, {}, {}};
  data.bytes.resize(static_cast<size_t>(count[0]) * sizeof(double));
  for (int64_t i = 0; i < count[0]; ++i) {
    double last = static_cast<double>(std::max<int64_t>(count[0] - 1, 1));
    double value = i > 0 && i == count[0] - 1
                       ? (*stop)[0]
                       : (*start)[0] + ((*stop)[0] - (*start)[0]) * static_cast<double>(i) / last;
    std::memcpy(data.bytes.data() + static_cast<size_t>(i) * sizeof(double), &value, sizeof value);
  }
  op.set(op.node.cast(op.node.constant(data), op.typeOf(op.in(0))));
}

void importFill(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(broadcastTo(op, op.in(1), op.in(0)));
}

void importLike(Operator &op) { // the operand's extents, filled with 0 or 1
  op.node.expectInputs(1, 1);
  op.set(filled(op, op.emit("shape", {op.in(0)}), op.typeOf(op.in(0)), op.code() == "OnesLike" ? 1 : 0));
}

void importMatrixDiag(Operator &op) {
  bool first = op.code() == "MatrixDiag";
  op.node.ignore({"align"});
  if (first) {
    op.node.expectInputs(1, 1);
  } else { // diagonal, its number, rows, columns, value elsewhere
    op.node.expectInputs(5, 5);
    auto known = [&](size_t index) { return op.node.requireInts(index, "what the diagonal is"); };
    auto rest = op.node.staticDoubles(op.in(4));
    int64_t extent = op.dims(op.in(0)).empty() ? 0 : op.dims(op.in(0)).back().constantOr(-2);
    for (size_t i : {2, 3})
      if (Ints given = known(i); given != Ints{-1} && given != Ints{extent})
        op.unsupported("a diagonal in a larger matrix");
    if (known(1) != Ints{0} || !rest || *rest != std::vector<double>{0})
      op.unsupported("other diagonals than the main one, or other values beside it than 0");
  }
  op.set(matrixDiag(op, op.in(0)));
}

void importMatrixSetDiag(Operator &op) {
  bool first = op.code() == "MatrixSetDiag";
  op.node.ignore({"align"});
  op.node.expectInputs(first ? 2 : 3, first ? 2 : 3);
  if (!first && op.node.requireInts(2, "the number of the diagonal") != Ints{0})
    op.unsupported("other diagonals than the main one");
  op.set(matrixSetDiag(op, op.in(0), op.in(1)));
}

void importBucketize(Operator &op) {
  op.node.expectInputs(1, 1);
  const std::vector<float> *boundaries = op.node.rawFloatsAttr("boundaries");
  require(boundaries != nullptr, "has no boundaries");
  op.set(bucketize(op, op.in(0), *boundaries));
}

} // namespace

void addIndexedImporters(Importers &table) {
  for (const char *name : {"Gather", "GatherV2", "ResourceGather"})
    table[name] = {importGather};
  table["GatherNd"] = table["ResourceGatherNd"] = {importGatherNd};
  table["ScatterNd"] = {importScatterNd};
  for (const char *kind : {"Update", "Add", "Sub", "Max", "Min"})
    table[std::string("TensorScatter") + kind] = {importTensorScatter};
  table["SparseToDense"] = {importSparseToDense};
  table["OneHot"] = {importOneHot};
  table["TopK"] = table["TopKV2"] = {importTopK};
  table["Where"] = {importWhere};
  for (const char *name : {"Unique", "UniqueV2", "UniqueWithCounts"})
    table[name] = {importUnique};
  for (const char *kind : {"Sum", "Prod", "Max", "Min"})
    table[std::string("UnsortedSegment") + kind] = {importUnsortedSegment};
  table["SegmentSum"] = {importSegmentSum};
  table["Range"] = {importRange};
  table["LinSpace"] = {importLinSpace};
  table["Fill"] = {importFill};
  table["ZerosLike"] = table["OnesLike"] = {importLike};
  table["MatrixDiag"] = table["MatrixDiagV2"] = table["MatrixDiagV3"] = {importMatrixDiag};
  table["MatrixSetDiag"] = table["MatrixSetDiagV2"] = table["MatrixSetDiagV3"] = {importMatrixSetDiag};
  table["Bucketize"] = {importBucketize};
}

} // namespace lathe::tensorflow
