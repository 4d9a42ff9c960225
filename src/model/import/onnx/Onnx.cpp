#include "import/onnx/Onnx.h"

namespace lathe::onnx {
namespace {

Handlers handlers() {
  Handlers result;
  addWindowHandlers(result);
  addNormalizeHandlers(result);
  addElementwiseHandlers(result);
  addViewHandlers(result);
  addMovementHandlers(result);
  addAttentionHandlers(result);
  addMatMulNBitsHandlers(result);
  addValueHandlers(result);
  addRecurrentHandlers(result);
  addIndexedHandlers(result);
  addDecomposedHandlers(result);
  addQuantizeHandlers(result);
  addSignalHandlers(result);
  addStateHandlers(result);
  addNGramHandlers(result);
  addDeformHandlers(result);
  return result;
}

} // namespace

const Format &format() {
  static const Format table = {
      .name = "ONNX",
      .versionWord = "opset",
      .read = readModel,
      .mappings = mappings("onnx"),
      .handlers = handlers(),
      .structure = structureHandler,
      .typeOf = fromOnnxType,
      .typeName = onnxTypeName,
      .passesOn = [](const NodeRecord &node) { return node.op == "Identity" || node.op == "Dropout"; }};
  return table;
}

} // namespace lathe::onnx
