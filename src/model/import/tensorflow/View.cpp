// Operators that keep the elements and change the extents, and operators that return extents.
#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {
namespace {

void importReshape(Operator &op) {
  if (auto shape = op.node.staticInts(op.in(1)))
    op.set(op.emit("reshape", {op.in(0)}, {{"shape", *shape}, {"allow_zero", true}}));
  else
    op.set(op.emit("reshape", {op.in(0), op.wide(1)}, {{"allow_zero", true}}));
}

void importSqueeze(Operator &op) {
  op.set(squeeze(op, op.in(0), op.node.intsAttr(op.node.hasAttr("axis") ? "axis" : "squeeze_dims")));
}

mlir::Value shapeOf(Operator &op, mlir::Value x) {
  return op.node.cast(op.emit("shape", {x}), op.typeAttr("out_type", ElementType::i32));
}

void importShapeN(Operator &op) {
  for (size_t i = 0; i < op.node.inputCount(); ++i)
    op.node.set(i, shapeOf(op, op.in(i)));
}

/// Imports Size: the product of the extents.
void importSize(Operator &op) {
  mlir::Value count = op.emit("reduce_prod", {op.emit("shape", {op.in(0)})}, {{"keepdims", false}});
  if (op.rank(op.in(0)) == 0)
    count = op.node.constantInts({}, {1});
  op.set(op.node.cast(count, op.typeAttr("out_type", ElementType::i32)));
}

} // namespace

void addViewImporters(Importers &table) {
  table["Reshape"] = {importReshape, 2};
  table["Squeeze"] = {importSqueeze, 1};
  table["ShapeN"] = {importShapeN};
  table["Size"] = {importSize, 1};
}

} // namespace lathe::tensorflow
