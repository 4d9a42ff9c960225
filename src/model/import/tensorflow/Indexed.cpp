// Operators that read or write at positions in other tensors, and tensors made from numbers.
#include "import/tensorflow/TensorFlow.h"

#include <cstring>

namespace lathe::tensorflow {
namespace {

void importGather(Operator &op) { // the second version has the axis as an operand
  bool second = op.code() == "GatherV2";
  int64_t axis = second ? axisOperand(op, 2, op.rank(op.in(0))) : 0;
  int64_t batch = op.node.intAttr("batch_dims", 0);
  if (!second && batch > 0)
    axis = batch;
  op.node.ignore({"dtype"});
  op.set(gatherAlong(op, op.in(0), op.wide(1), axis, batch));
}

/// Operands: tensor, positions, updates.
void importTensorScatter(Operator &op) {
  op.node.ignore({"bad_indices_policy"});
  std::string kind = op.code().substr(std::string("TensorScatter").size());
  const char *reduction = kind == "Update" ? "none" : kind == "Max" ? "max" : kind == "Min" ? "min" : "add";
  mlir::Value updates = kind == "Sub" ? op.emit("neg", {op.in(2)}) : op.in(2);
  op.set(op.emit("scatter_nd", {op.in(0), op.wide(1), updates}, {{"reduction", reduction}}));
}

void importTopK(Operator &op) {
  op.node.ignore({"sorted"});
  mlir::Operation *best = topK(op, op.in(0), op.node.constantInts({}, {op.node.intAttr("k", 1)}));
  op.set(best->getResult(0));
  op.node.set(1, op.node.cast(best->getResult(1), ElementType::i32));
}

void importUnique(Operator &op) {
  if (op.node.has(1) && !op.node.requireInts(1, "the axis").empty() && op.rank(op.in(0)) != 1)
    op.unsupported("unique slices along an axis");
  ElementType type = op.typeAttr("out_idx", ElementType::i32);
  mlir::Operation *unique = op.node.emitOp("unique", {op.in(0)}, {{"sorted", false}});
  op.set(unique->getResult(0));
  op.node.set(1, op.node.cast(unique->getResult(2), type));
  if (op.code() == "UniqueWithCounts")
    op.node.set(2, op.node.cast(unique->getResult(3), type));
}

/// Operands: start, stop and the number of values, all of which must be known.
void importLinSpace(Operator &op) {
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

void importMatrixDiag(Operator &op) { // diagonal, its number, rows, columns, value elsewhere
  op.node.ignore({"align"});
  auto known = [&](size_t index) { return op.node.requireInts(index, "what the diagonal is"); };
  auto rest = op.node.staticDoubles(op.in(4));
  int64_t extent = op.dims(op.in(0)).empty() ? 0 : op.dims(op.in(0)).back().constantOr(-2);
  for (size_t i : {2, 3})
    if (Ints given = known(i); given != Ints{-1} && given != Ints{extent})
      op.unsupported("a diagonal in a larger matrix");
  if (known(1) != Ints{0} || !rest || *rest != std::vector<double>{0})
    op.unsupported("other diagonals than the main one, or other values beside it than 0");
  op.set(matrixDiag(op, op.in(0)));
}

void importMatrixSetDiag(Operator &op) {
  op.node.ignore({"align"});
  if (op.node.requireInts(2, "the number of the diagonal") != Ints{0})
    op.unsupported("other diagonals than the main one");
  op.set(matrixSetDiag(op, op.in(0), op.in(1)));
}

void importBucketize(Operator &op) {
  const std::vector<float> *boundaries = op.node.rawFloatsAttr("boundaries");
  require(boundaries != nullptr, "has no boundaries");
  op.set(bucketize(op, op.in(0), *boundaries));
}

} // namespace

void addIndexedImporters(Importers &table) {
  table["Gather"] = table["ResourceGather"] = {importGather, 2};
  table["GatherV2"] = {importGather, 3};
  for (const char *kind : {"Update", "Add", "Sub", "Max", "Min"})
    table[std::string("TensorScatter") + kind] = {importTensorScatter, 3};
  table["TopK"] = {importTopK, 1};
  table["UniqueV2"] = {importUnique, 2};
  table["UniqueWithCounts"] = {importUnique, 1};
  table["LinSpace"] = {importLinSpace, 3};
  table["MatrixDiagV2"] = table["MatrixDiagV3"] = {importMatrixDiag, 5};
  table["MatrixSetDiagV2"] = table["MatrixSetDiagV3"] = {importMatrixSetDiag, 3};
  table["Bucketize"] = {importBucketize, 1};
}

} // namespace lathe::tensorflow
