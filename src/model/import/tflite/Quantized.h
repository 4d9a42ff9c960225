// Imports TFLite operators on quantised tensors as integer operators that give exactly TensorFlow Lite's results.
#pragma once

#include "import/tflite/Tflite.h"

namespace lathe::tflite {

/// True if the first operand or result of a TFLite operator is quantised: 8 or 16 bits wide, with a scale. False for
/// hybrid operators (quantised weights, float activations).
bool isQuantised(const Operator &op);

/// Importers of TFLite operators on quantised tensors. Operators that only move elements (Importer::moves) are not
/// among them.
const Importers &quantisedImporters();

} // namespace lathe::tflite
