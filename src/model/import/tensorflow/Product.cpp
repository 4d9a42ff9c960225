// Matrix products.
#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {
namespace {

void importMatMul(Operator &op) {
  op.node.ignore({"a_is_sparse", "b_is_sparse"}); // hints
  op.set(op.emit("gemm", {op.in(0), op.in(1), {}},
                 {{"trans_a", op.boolAttr("transpose_a", false)}, {"trans_b", op.boolAttr("transpose_b", false)}}));
}

void importEinsum(Operator &op) { op.set(einsum(op.node, op.all(), op.node.stringAttr("equation", ""))); }

/// Imports L2Loss: half of the sum of squares.
void importL2Loss(Operator &op) {
  mlir::Value sum = op.emit("reduce_sum_square", {op.in(0)}, {{"keepdims", false}});
  op.set(op.emit("mul", {sum, op.number(op.typeOf(sum), 0.5)}));
}

} // namespace

void addProductImporters(Importers &table) {
  table["MatMul"] = table["SparseMatMul"] = {importMatMul, 2};
  table["Einsum"] = {importEinsum, 1};
  table["L2Loss"] = {importL2Loss};
}

} // namespace lathe::tensorflow
