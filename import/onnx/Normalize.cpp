// Normalisation over channels or an axis, reductions and matrix products in their historical forms.
#include "import/onnx/Node.h"

namespace lathe::onnx {
namespace {

void importBatchNorm(Node &node) {
  node.expectInputs(5, 5);
  node.ignore({"momentum"}); // concerns training only
  if (node.intAttr("training_mode", 0) != 0)
    node.unsupported("training_mode is set");
  if (node.opset() < 7 && node.intAttr("is_test", 0) == 0)
    node.unsupported("training (is_test=0)");
  if (node.opset() < 9 && node.intAttr("spatial", 1) == 0)
    node.unsupported("statistics for each element (spatial=0)");
  for (size_t i = 1; i < node.outputCount(); ++i)
    if (node.wants(i))
      node.unsupported("the outputs for training are used");
  // Since opset 15 the statistics may have other float types than x.
  ElementType type = node.info(node.in(0)).type;
  Values operands = {node.in(0)};
  for (size_t i = 1; i < 5; ++i)
    operands.push_back(node.cast(node.in(i), type));
  node.set(0, node.emit("batch_norm", operands, {{"epsilon", node.floatAttr("epsilon", 1e-5)}}));
}

/// Before opset 13 the input is seen as a matrix, its axes before `axis` against the others.
void importSoftmax(Node &node) {
  if (node.opset() >= 13)
    return importDirectly(node);
  const char *mnemonic = node.proto.op_type() == "Softmax" ? "softmax" : "log_softmax";
  node.expectInputs(1, 1);
  mlir::Value x = node.in(0);
  const Dims dims = node.info(x).dims;
  auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = node.intAttr("axis", 1);
  require(axis >= -rank && axis <= rank, "axis is {}, expected one in [-{}, {}]", axis, rank, rank);
  axis += axis < 0 ? rank : 0;
  bool othersAreOne = axis < rank;
  for (int64_t i = axis + 1; i < rank; ++i)
    othersAreOne &= dims[i] == Dim(1);
  if (othersAreOne) {
    node.set(0, node.emit(mnemonic, {x}, {{"axis", axis}}));
    return;
  }
  std::span all(dims);
  mlir::Value matrix = node.reshape(x, {product(all.first(axis)), product(all.subspan(axis))});
  mlir::Value result = node.emit(mnemonic, {matrix}, {{"axis", 1}});
  node.set(0, node.reshape(result, dims));
}

/// Opset 20 adds booleans to the extremes: any and all.
void importReduceExtreme(Node &node) {
  if (!node.has(0) || node.info(node.in(0)).type != ElementType::boolean)
    return importDirectly(node);
  require(node.opset() >= 20, "x is bool, expected numbers before opset 20");
  node.expectInputs(1, 2);
  mlir::Value x = node.cast(node.in(0), ElementType::u8);
  Fields fields = {{"axes", node.has(1) ? node.requireInts(1, "axes") : std::vector<int64_t>()},
                   {"keepdims", node.intAttr("keepdims", 1) != 0},
                   {"noop_with_empty_axes", node.intAttr("noop_with_empty_axes", 0) != 0}};
  mlir::Value result = node.emit(node.proto.op_type() == "ReduceMax" ? "reduce_max" : "reduce_min", {x}, fields);
  node.set(0, node.cast(result, ElementType::boolean));
}

/// Before opset 7 broadcasting of C had to be asked for.
void importGemm(Node &node) {
  if (node.opset() >= 7)
    return importDirectly(node);
  node.expectInputs(3, 3);
  node.ignore({"broadcast"});
  node.set(0, node.emit("gemm", {node.in(0), node.in(1), node.in(2)},
                        {{"alpha", node.floatAttr("alpha", 1)},
                         {"beta", node.floatAttr("beta", 1)},
                         {"trans_a", node.intAttr("transA", 0) != 0},
                         {"trans_b", node.intAttr("transB", 0) != 0}}));
}

} // namespace

void addNormalizeHandlers(Handlers &table) {
  table["ReduceMax"] = importReduceExtreme;
  table["ReduceMin"] = importReduceExtreme;
  table["Gemm"] = importGemm;
  table["BatchNormalization"] = importBatchNorm;
  table["Softmax"] = importSoftmax;
  table["LogSoftmax"] = importSoftmax;
}

} // namespace lathe::onnx
