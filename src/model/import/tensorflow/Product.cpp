// Matrix products.
#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {
namespace {

void importMatMul(Operator &op) {
  op.node.expectInputs(2, 2);
  op.node.ignore({"a_is_sparse", "b_is_sparse"}); // hints
  op.set(op.emit("gemm", {op.in(0), op.in(1), {}},
                 {{"trans_a", op.boolAttr("transpose_a", false)}, {"trans_b", op.boolAttr("transpose_b", false)}}));
}

void importBatchMatMul(Operator &op) {
  op.node.expectInputs(2, 2);
  op.node.ignore({"grad_x", "grad_y"});
  auto turned = [&](mlir::Value value, bool turn) {
    int64_t rank = op.rank(value);
    require(rank >= 2, "an operand has rank {}, expected at least 2", rank);
    if (!turn)
      return value;
    Ints perm;
    for (int64_t axis = 0; axis < rank; ++axis)
      perm.push_back(axis < rank - 2 ? axis : 2 * rank - 3 - axis);
    return transpose(op.node, value, perm);
  };
  mlir::Value a = turned(op.in(0), op.boolAttr("adj_x", false)), b = turned(op.in(1), op.boolAttr("adj_y", false));
  op.set(op.emit("matmul", {a, b}));
}

void importEinsum(Operator &op) { op.set(einsum(op.node, op.all(), op.node.stringAttr("equation", ""))); }

/// Half of the sum of squares.
void importL2Loss(Operator &op) {
  op.node.expectInputs(1, 1);
  mlir::Value sum = op.emit("reduce_sum_square", {op.in(0)}, {{"keepdims", false}});
  op.set(op.emit("mul", {sum, op.number(op.typeOf(sum), 0.5)}));
}

} // namespace

void addProductImporters(Importers &table) {
  table["MatMul"] = table["SparseMatMul"] = {importMatMul};
  for (const char *name : {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"})
    table[name] = {importBatchMatMul};
  table["Einsum"] = {importEinsum};
  table["L2Loss"] = {importL2Loss};
}

} // namespace lathe::tensorflow
