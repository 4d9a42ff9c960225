// Operators that TensorFlow and TFLite have in common.
#pragma once

#include "import/parts/Emitter.h"

#include <span>

namespace lathe::source {

struct CommonOperator {
  const char *tensorflow, *tflite; // name of the operator in each format; "": the format does not have it
  void (*run)(Emitter &);          // emits nn operators and sets the results
  OperandCount operands;
  bool moves = false; // true: the operator only moves elements, so quantised tensors are imported in the same way
};

std::span<const CommonOperator> commonOperators();

} // namespace lathe::source
