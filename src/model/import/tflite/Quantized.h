// Operators on quantised tensors: they become integer operators, exactly as TensorFlow Lite computes them.
#pragma once

#include "import/tflite/Tflite.h"

namespace lathe::tflite {

/// True if the first operand or result is quantised: 8 or 16 bits wide, with a scale. Operators with quantised weights
/// and float activations (hybrid ones) are not.
bool isQuantised(const Operator &op);

/// Importers of quantised operators. Those that only move elements are not among them (Importer::moves).
const Importers &quantisedImporters();

} // namespace lathe::tflite
