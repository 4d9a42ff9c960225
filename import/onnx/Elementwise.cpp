// Elementwise operators whose ONNX form is wider than one nn op.
#include "import/onnx/Node.h"

namespace lathe::onnx {
namespace {

/// f(f(a, b), c)...
mlir::Value chain(Node &node, const char *mnemonic) {
  require(node.inputCount() >= 1, "has no inputs, expected at least 1");
  mlir::Value result = node.in(0);
  for (size_t i = 1; i < node.inputCount(); ++i)
    result = node.emit(mnemonic, {result, node.in(i)});
  return result;
}

void importSum(Node &node) { node.set(0, chain(node, "add")); }
void importMax(Node &node) { node.set(0, chain(node, "max")); }
void importMin(Node &node) { node.set(0, chain(node, "min")); }

void importMean(Node &node) {
  mlir::Value sum = chain(node, "add");
  if (node.inputCount() > 1) {
    mlir::Value count = node.constantScalar(node.info(sum).type, static_cast<double>(node.inputCount()));
    sum = node.emit("div", {sum, count});
  }
  node.set(0, sum);
}

/// Since opset 12 base and exponent may have different types; the result has the base's.
void importPow(Node &node) {
  if (node.opset() < 12)
    return importDirectly(node);
  node.expectInputs(2, 2);
  mlir::Value base = node.in(0), exponent = node.in(1);
  ElementType baseType = node.info(base).type, exponentType = node.info(exponent).type;
  // An integer to a fractional power is computed in the exponent's type.
  ElementType common = isFloat(exponentType) && !isFloat(baseType) ? exponentType : baseType;
  mlir::Value power = node.emit("pow", {node.cast(base, common), node.cast(exponent, common)});
  node.set(0, node.cast(power, baseType));
}

void importCastLike(Node &node) {
  require(node.opset() >= 15, "there is no such operator in opset {}", node.opset());
  node.expectInputs(2, 2);
  node.set(0, node.emit("cast", {node.in(0)},
                        {{"to", node.info(node.in(1)).type}, {"saturate", node.intAttr("saturate", 1) != 0}}));
}

} // namespace

void addElementwiseHandlers(Handlers &table) {
  table["Sum"] = importSum;
  table["Mean"] = importMean;
  table["Max"] = importMax;
  table["Min"] = importMin;
  table["Pow"] = importPow;
  table["CastLike"] = importCastLike;
}

} // namespace lathe::onnx
