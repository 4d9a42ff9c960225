#include "import/tflite/QuantizedParts.h"

#include "import/tflite/Quantized.h"

namespace lathe::tflite {
namespace {

bool isNarrow(ElementType type) { return isByte(type) || type == ElementType::i16; }

} // namespace

bool isQuantised(const Operator &op) {
  return (isNarrow(op.inputType(0)) && op.inputQuantization(0)) ||
         (isNarrow(op.outputType()) && op.outputQuantization());
}

const Importers &quantisedImporters() {
  static const Importers table = [] {
    Importers result;
    addQuantizedElementwise(result);
    addQuantizedMovement(result);
    addQuantizedRows(result);
    addQuantizedRecurrent(result);
    addQuantizedUnary(result);
    addQuantizedWindow(result);
    return result;
  }();
  return table;
}

} // namespace lathe::tflite
