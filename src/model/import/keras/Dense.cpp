// Products with weights, and embeddings.
#include "import/keras/Keras.h"

namespace lathe::keras {
namespace {

/// Imports Dense: x times the kernel, along the last axis of x.
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
    // The file's bias has all axes of the result from the first one of bias_axes on.
    mlir::Value bias = layer.weight(1);
    std::string result = equation.substr(equation.find("->") + 2);
    size_t first = result.find_first_of(biasAxes);
    require(first != std::string::npos, "bias_axes '{}' are not axes of the equation '{}'", biasAxes, equation);
    y = layer.emit("add", {y, bias});
  }
  layer.set(activate(layer, y, member(layer.config, "activation")));
}

/// The indices of an embedding. Floats are rounded towards zero.
mlir::Value indicesOf(Layer &layer) {
  mlir::Value x = layer.raw(0);
  ElementType type = layer.node.info(x).type;
  return type == ElementType::i32 || type == ElementType::i64 ? x : layer.node.cast(x, ElementType::i32);
}

/// Imports Embedding: picks rows of a table.
void importEmbedding(Layer &layer) {
  layer.expectWeights(1);
  mlir::Value x = indicesOf(layer);
  layer.set(layer.emit("gather", {layer.weight(0), x}, {{"axis", 0}}));
  if (layer.hasMaskResult()) {
    mlir::Value zero = layer.node.constantScalar(layer.node.info(x).type, 0);
    layer.setMask(layer.emit("not", {layer.emit("equal", {x, zero})}));
  }
}

/// An embedding; with `reverse`, products of rows with the table, or with a separate table.
void importReversibleEmbedding(Layer &layer) {
  bool tied = layer.flag("tie_weights", true);
  layer.expectWeights(tied ? 1 : 2);
  const json &reverse = layer.argument(1, "reverse");
  if (!reverse.is_boolean() || !reverse.get<bool>()) {
    if (layer.flag("mask_zero", false))
      layer.unsupported("mask_zero is not supported");
    layer.set(layer.emit("gather", {layer.weight(0), indicesOf(layer)}, {{"axis", 0}}));
    return;
  }
  mlir::Value table = tied ? transpose(layer.node, layer.weight(0), {1, 0}) : layer.weight(1);
  mlir::Value y = layer.emit("matmul", {layer.in(), table});
  if (layer.has("logit_soft_cap")) {
    mlir::Value cap = layer.scalar(layer.number("logit_soft_cap", 0));
    y = layer.emit("mul", {layer.emit("tanh", {layer.emit("div", {y, cap})}), cap});
  }
  layer.set(y);
}

} // namespace

void addDenseImporters(Importers &table) {
  table["Dense"] = {importDense, "`gemm`, or `matmul` and `add`", MaskUse::passes};
  table["EinsumDense"] = {importEinsumDense, "`matmul`, `transpose`, `reshape`", MaskUse::passes};
  table["Embedding"] = {importEmbedding, "`gather`; a mask with mask_zero", MaskUse::makes};
  table["ReversibleEmbedding"] = {importReversibleEmbedding, "`gather`, or `matmul` with the table"};
}

} // namespace lathe::keras
