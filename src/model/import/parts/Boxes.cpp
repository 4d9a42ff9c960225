// Selects boxes; results that nn.select_boxes does not fill are zero.
#include "import/parts/Emitter.h"

#include <algorithm>

namespace lathe::source {

SelectedBoxes selectBoxes(Emitter &op, mlir::Value boxes, mlir::Value scores, mlir::Value limit, mlir::Value overlap,
                          mlir::Value threshold, int64_t most) {
  Node &node = op.node;
  const Dims dims = op.dims(scores);
  Dims all = op.dims(boxes), each = dims;
  all.insert(all.begin(), Dim(1));
  each.insert(each.begin(), Dim(1));
  mlir::Operation *selection =
      node.emitOp("select_boxes", {node.reshape(boxes, all), node.reshape(scores, each), limit, overlap, threshold});
  int64_t available = knownExtent(op, dims[1], "the boxes"), taken = std::min(available, most);
  mlir::Value indices = node.cast(node.reshape(selection->getResult(0), dims), ElementType::i64);
  indices = cut(op, indices, 1, 0, taken);
  if (taken < most)
    indices = op.emit("pad", {indices, {}, {}}, {{"pads", Ints{0, 0, 0, most - taken}}});
  SelectedBoxes result;
  result.count = node.reshape(selection->getResult(1), {dims[0]});
  result.valid = op.emit("less", {ramp(op, most, 0, 1), node.reshape(result.count, {dims[0], Dim(1)})});
  result.boxes = op.emit("where", {result.valid, indices, node.constantInts({}, {0})});
  return result;
}

mlir::Value masked(Emitter &op, mlir::Value valid, mlir::Value value) {
  return op.emit("where", {valid, value, op.node.constantScalar(op.node.info(value).type, 0)});
}

} // namespace lathe::source
