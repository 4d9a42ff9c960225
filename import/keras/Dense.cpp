// Products with weights, and embeddings.
#include "import/keras/Keras.h"

namespace lathe::keras {
namespace {

/// x times the kernel along the last axis.
void importDense(Layer &layer) {
  bool bias = layer.flag("use_bias", layer.flag("bias", true));
  layer.expectWeights(bias ? 2 : 1);
  mlir::Value x = layer.in(), w = layer.weight(0), b = bias ? layer.weight(1) : mlir::Value(), y;
  if (layer.rank(x) == 2) {
    y = layer.emit("gemm", {x, w, b});
  } else {
    y = layer.emit("matmul", {x, w});
    if (b)
      y = layer.emit("add", {y, b});
  }
  layer.set(activate(layer, y, member(layer.config, "activation")));
}

/// The equation is over named axes: "abc,cd->abd"; the bias has the axes of bias_axes.
void importEinsumDense(Layer &layer) {
  std::string biasAxes = layer.text("bias_axes", "");
  layer.expectWeights(biasAxes.empty() ? 1 : 2);
  std::string equation = layer.text("equation", "");
  mlir::Value y = einsum(layer.node, {layer.in(), layer.weight(0)}, equation);
  if (!biasAxes.empty()) {
    // The file's bias has an axis for every axis of the result behind the first one of bias_axes.
    mlir::Value bias = layer.weight(1);
    std::string result = equation.substr(equation.find("->") + 2);
    size_t first = result.find_first_of(biasAxes);
    require(first != std::string::npos, "bias_axes '{}' are not axes of the equation '{}'", biasAxes, equation);
    y = layer.emit("add", {y, bias});
  }
  layer.set(activate(layer, y, member(layer.config, "activation")));
}

/// Rows of a table. Floats as indices are rounded towards zero.
void importEmbedding(Layer &layer) {
  layer.expectWeights(1);
  mlir::Value x = layer.raw(0);
  ElementType type = layer.node.info(x).type;
  if (type != ElementType::i32 && type != ElementType::i64)
    x = layer.node.cast(x, ElementType::i32);
  layer.set(layer.emit("gather", {layer.weight(0), x}, {{"axis", 0}}));
  if (layer.hasMaskResult()) {
    mlir::Value zero = layer.node.constantScalar(layer.node.info(x).type, 0);
    layer.setMask(layer.emit("not", {layer.emit("equal", {x, zero})}));
  }
}

} // namespace

void addDenseImporters(Importers &table) {
  table["Dense"] = {importDense, "`gemm`, or `matmul` and `add`"};
  table["EinsumDense"] = {importEinsumDense, "`matmul`, `transpose`, `reshape`"};
  table["Embedding"] = {importEmbedding, "`gather`; a mask with mask_zero"};
}

} // namespace lathe::keras
