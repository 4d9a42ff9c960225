// Operators that only give the same elements other extents, and those that tell extents.
#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {
namespace {

void importReshape(Operator &op) {
  op.node.expectInputs(2, 2);
  if (auto shape = op.node.staticInts(op.in(1)))
    op.set(op.emit("reshape", {op.in(0)}, {{"shape", *shape}, {"allow_zero", true}}));
  else
    op.set(op.emit("reshape", {op.in(0), op.wide(1)}, {{"allow_zero", true}}));
}

void importSqueeze(Operator &op) {
  op.node.expectInputs(1, 1);
  const Dims dims = op.dims(op.in(0));
  std::vector<bool> dropped(dims.size());
  Ints axes = op.node.intsAttr(op.node.hasAttr("axis") ? "axis" : "squeeze_dims");
  for (int64_t axis : axes) {
    auto at = static_cast<size_t>(normalizeAxis(axis, static_cast<int64_t>(dims.size()), "an axis"));
    require(dims[at].constantOr(1) == 1, "axis {} has extent {}, expected 1", axis, dims[at].str());
    dropped[at] = true;
  }
  for (size_t i = 0; i < dims.size() && axes.empty(); ++i)
    dropped[i] = dims[i] == Dim(1);
  Dims kept;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!dropped[i])
      kept.push_back(dims[i]);
  op.set(op.node.reshape(op.in(0), kept));
}

void importExpandDims(Operator &op) {
  op.node.expectInputs(2, 2);
  Ints axis = op.node.requireInts(1, "the axis");
  require(axis.size() == 1, "has {} axes, expected 1", axis.size());
  Dims dims = op.dims(op.in(0));
  dims.insert(dims.begin() + normalizeAxis(axis[0], static_cast<int64_t>(dims.size()) + 1, "the axis"), Dim(1));
  op.set(op.node.reshape(op.in(0), dims));
}

mlir::Value shapeOf(Operator &op, mlir::Value x) {
  return op.node.cast(op.emit("shape", {x}), op.typeAttr("out_type", ElementType::i32));
}

void importShape(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(shapeOf(op, op.in(0)));
}

void importShapeN(Operator &op) {
  for (size_t i = 0; i < op.node.inputCount(); ++i)
    op.node.set(i, shapeOf(op, op.in(i)));
}

/// The product of the extents.
void importSize(Operator &op) {
  op.node.expectInputs(1, 1);
  mlir::Value count = op.emit("reduce_prod", {op.emit("shape", {op.in(0)})}, {{"keepdims", false}});
  if (op.rank(op.in(0)) == 0)
    count = op.node.constantInts({}, {1});
  op.set(op.node.cast(count, op.typeAttr("out_type", ElementType::i32)));
}

void importRank(Operator &op) {
  op.node.expectInputs(1, 1);
  op.set(op.number(ElementType::i32, static_cast<double>(op.rank(op.in(0)))));
}

} // namespace

void addViewImporters(Importers &table) {
  table["Reshape"] = {importReshape};
  table["Squeeze"] = {importSqueeze};
  table["ExpandDims"] = {importExpandDims};
  table["Shape"] = {importShape};
  table["ShapeN"] = {importShapeN};
  table["Size"] = {importSize};
  table["Rank"] = {importRank};
}

} // namespace lathe::tensorflow
